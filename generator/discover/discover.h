/* discover.h -- a run of discover-rules: takes questions from models and files, and turns the
   answers into candidate rules. Nothing here is a proof. */
#ifndef ISOMER_DISCOVER_H
#define ISOMER_DISCOVER_H
#include "generator/discover/question.h"
#include "graphs/sizes.h"
#include "ops/base/file_use.h"

typedef struct DiscoverOptions {
    StringList files;     /* models and files of questions */
    const FileUses *uses; /* the files that the caller reads and writes; it must not write to a file
                             with weights of a model */
    SizeOptions sizes;    /* sizes of the models' inputs */
    const char *profile;  /* profile of the only model (lost.h); NULL: times are estimated */
    int operators;        /* most operators in a part of a model */
    bool no_bodies;       /* does not ask about bodies of control flow */
    int depth, steps;     /* limits of each search (answer.h) */
    int jobs, most;       /* most: number of questions to take; 0: all */
    double seconds;       /* no question is started after this time; 0: no limit */
    uint64_t seed;
    const char *folder; /* finished questions are kept in this folder; NULL: nowhere */
    int shard, nshard; /* answers every nshard-th question, from number `shard` on; nshard 0: all */
    size_t memory;     /* bytes for all questions in hand; 0: no limit */
    double cost_ratio_most; /* limit on the price of answers (answer.h) */
    const char *models;     /* folder for models of questions and answers (answer.h) */
    void (*progress)(void *user, int done, int total, double seconds);
    /* Called with each body of a model that cannot be asked about, and the reason; may be NULL. */
    void (*left)(void *user, const char *model, const char *body, const char *why);
    void *user;
} DiscoverOptions;
typedef struct DiscoverReport {
    int questions, asked, answered; /* asked: those that were started before the time was over */
    int resumed; /* of the asked ones, those whose answers were kept from an earlier run */
    int large;   /* given up because they took more than their part of the memory */
    uint64_t typed, evaluated, solved, equations, untrue, rules;
    double seconds;
} DiscoverReport;
/* Collects all questions, the most expensive first: for models, those of their graphs and, unless
   no_bodies, of the bodies of If, Loop and Scan at any depth. A model's name is that of its file
   without folder and .onnx. */
bool discover_questions(const DiscoverOptions *, Questions *, Error *);
/* Answers the questions and appends the candidate rules, in the order of the questions. */
bool discover_answers(const DiscoverOptions *, const Questions *, Text *rules, DiscoverReport *,
                      Error *);
#endif
