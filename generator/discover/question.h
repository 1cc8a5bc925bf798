/* question.h -- what models ask: small graphs over symbolic sizes, each with the sizes at the place
   that asked, how often it occurs and how long it takes there. In a file of questions each one is

     question ID count=12 seconds=0.0034 from=light_resnet50
     at a=1 b=64
     graph q
       %x1 : F [a, b]   %k2 : F [b]
     body
       %1 = mul %x1 %k2
       out %1

   Inputs named k.. are constants of the model. ID is the hash of the graph's text: questions from
   several models are one if their texts are equal. */
#ifndef ISOMER_QUESTION_H
#define ISOMER_QUESTION_H
#include "ops/base/text.h"

enum { QUESTION_ID = 17 };
typedef struct Question {
    char id[QUESTION_ID];
    int64_t count;    /* how many places ask it */
    double seconds;   /* of all places: estimated, or what a profile says they lose */
    double most;      /* seconds of the place that `at` is from: the most expensive one */
    double share;     /* seconds by those of the most expensive question of a model that asks it,
                         where this is greatest */
    const char *from; /* the models, joined by commas */
    const char *at;   /* "a=1 b=64" */
    const char *graph;
} Question;
typedef struct Questions {
    int n, room;
    Question *v;
    Arena *arena;
    struct Intern *ids;
} Questions;
Questions questions_new(Arena *);
/* Strings are copied. An equal question becomes one with it. */
void questions_add(Questions *, const Question *);
/* Adds those of one source and sets their shares in it. */
void questions_join(Questions *, const Questions *of_source);
/* Decreasing share, so that what loses most time in a model comes early, however fast the model is;
   then decreasing seconds, increasing length, by identifier. */
void questions_sort(Questions *);
/* Adds what a file holds. E_ENVIRONMENT, E_INVALID with the line. */
bool questions_read(Questions *, const char *path, Error *);
void question_print(const Question *, Text *);
#endif
