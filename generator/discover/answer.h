/* answer.h -- answers to a question: graphs that compute the same and cost less. */
#ifndef ISOMER_ANSWER_H
#define ISOMER_ANSWER_H
#include "generator/discover/question.h"

typedef struct AnswerOptions {
    int depth;              /* most operators on data since the last landmark */
    int steps;              /* most evaluations at each depth */
    uint64_t seed;          /* of the random points */
    size_t memory;          /* most bytes of terms and their values; 0: no limit */
    double cost_ratio_most; /* an answer may be estimated to cost this many times as much as the
                               question */
    const char *models; /* folder for the question and each answer as models, at the sizes of the
                           part of the model that asked; NULL: none are written */
} AnswerOptions;
typedef struct AnswerStats {
    /* Signatures tried, nodes evaluated, linear systems solved. */
    uint64_t typed, evaluated, solved;
    uint64_t equations; /* graphs that were equal at the small sizes */
    uint64_t untrue;    /* of these, those that were not at other sizes, or could not be tried */
} AnswerStats;
typedef struct Answer {
    const char *body; /* of the rule: inputs, from, to, where */
    double ratio;     /* estimated seconds of the question divided by those of the answer */
    const char *how;  /* the method that found it */
    int depth;
    bool stays;        /* kept even when there are too many answers */
    const char *model; /* file name of its model; NULL: it cannot be written */
} Answer;
typedef struct Answers {
    int n;
    Answer v[12];
} Answers;
/* Searches for answers. They live in the arena, in the order in which they were found; if there are
   too many, the ones that stay and the last ones are kept. Fails with E_INVALID if the question's
   graph cannot be read or its sizes are wrong. The search takes memory through the arena's Escape
   and frees it; beyond the limit it raises E_LIMIT. */
bool question_answer(Arena *, const Question *, const AnswerOptions *, Answers *, AnswerStats *,
                     Error *);
#endif
