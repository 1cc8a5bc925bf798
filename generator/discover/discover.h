/* discover.h -- a run of discover-rules: questions from models and files, answers to each, as
   candidate rules. Nothing here is a proof. */
#ifndef ISOMER_DISCOVER_H
#define ISOMER_DISCOVER_H
#include "generator/discover/question.h"
#include "graphs/sizes.h"

typedef struct DiscoverOptions {
    StringList files;    /* models, and files of questions */
    SizeOptions sizes;   /* of the models */
    const char *profile; /* of the one model (lost.h); NULL: times are estimated */
    int operators;       /* the largest part of a model */
    bool no_bodies;      /* of models: not of the bodies of control flow */
    int depth, steps;    /* of each question (answer.h) */
    int jobs, most;      /* most: questions; 0: all */
    double seconds;      /* afterwards no question is begun; 0: no limit */
    uint64_t seed;
    const char *folder; /* finished questions are kept there; NULL: nowhere */
    int shard, nshard;  /* of each nshard questions (0: all are asked) that one is */
    size_t memory;      /* bytes of all questions in hand; 0: no limit */
    double worse;       /* of answers (answer.h) */
    const char *models; /* a folder (answer.h) */
    void (*progress)(void *user, int done, int total, double seconds);
    /* A body of the model that cannot be asked, and why; NULL: nobody wants to know. */
    void (*left)(void *user, const char *model, const char *body, const char *why);
    void *user;
} DiscoverOptions;
typedef struct DiscoverReport {
    int questions, asked, answered; /* asked: until the time was over */
    int resumed;                    /* of these, answers that were kept */
    int large;                      /* given up, as they took more than their part of the memory */
    uint64_t typed, evaluated, solved, equations, untrue, rules;
    double seconds;
} DiscoverReport;
/* All questions, the most expensive first: those of models from their graphs and, unless no_bodies,
   from bodies of If, Loop and Scan at any depth. The names of models are those of their files
   without folder and .onnx. */
bool discover_questions(const DiscoverOptions *, Questions *, Error *);
/* Answers them; appends the candidate rules, question by question, in the order of
   the questions. */
bool discover_answers(const DiscoverOptions *, const Questions *, Text *rules, DiscoverReport *,
                      Error *);
#endif
