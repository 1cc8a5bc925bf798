/* answer.h -- answers to one question: graphs that compute the same and cost less. */
#ifndef ISOMER_ANSWER_H
#define ISOMER_ANSWER_H
#include "generator/discover/question.h"

typedef struct AnswerOptions {
    int depth;     /* operators on data since the last landmark, at most */
    int steps;     /* evaluations, at most, of each depth */
    uint64_t seed; /* of the points */
    size_t memory; /* bytes of terms and their values; 0: no limit */
    double worse;  /* an answer may be estimated to cost so many times what the question does */
    const char *models; /* a folder, where the question and each answer become models at the sizes
                           of the place that asked; NULL: they do not */
} AnswerOptions;
typedef struct AnswerStats {
    uint64_t typed, evaluated, solved;
    uint64_t equations; /* what was equal at the small sizes */
    uint64_t untrue;    /* of these, what was not at others, or not known */
} AnswerStats;
typedef struct Answer {
    const char *body; /* of a rule: inputs, from, to, where */
    double ratio;     /* estimated seconds of the question to those of the answer */
    const char *how;
    int depth;
    bool stays;        /* when later ones are too many */
    const char *model; /* its file in the folder; NULL: it cannot be written */
} Answer;
typedef struct Answers {
    int n;
    Answer v[12];
} Answers;
/* The answers live in the arena, in the order in which they were found; if they are too many, those
   that stay and the last ones. E_INVALID: the question's graph cannot be read, or has no values at
   any small sizes. Memory comes from the arena's Escape and is freed; beyond the limit it raises
   E_LIMIT. */
bool question_answer(Arena *, const Question *, const AnswerOptions *, Answers *, AnswerStats *,
                     Error *);
#endif
