/* question.h -- what models ask: small graphs over symbolic sizes, each with the sizes at the place
   that asked, how often it occurs, and how long it takes there. In a file of questions each has
   this form:

     question ID count=12 seconds=0.0034 most=0.0005 from=light_resnet50
     at a=1 b=64
     graph q
       %x1 : F [a, b]   %k2 : F [b]
     body
       %1 = mul %x1 %k2
       out %1

   Inputs named k.. are constants of the model. ID is the hash of the graph's text. Questions from
   several models are merged if their texts are equal. */
#ifndef ISOMER_QUESTION_H
#define ISOMER_QUESTION_H
#include "ops/base/text.h"

enum { QUESTION_ID = 17 };
typedef struct Question {
    char id[QUESTION_ID];
    int64_t count;  /* number of places that ask it */
    double seconds; /* seconds at all places together: estimated, or lost according to a profile */
    double most;    /* seconds at the most expensive place, the one that `at` is from */
    double share;   /* seconds divided by those of the most expensive question of the same model;
                       where several models ask it, the greatest such share */
    const char *from; /* names of the models, joined by commas */
    const char *at;   /* sizes at the place: "a=1 b=64" */
    const char *graph;
} Question;
typedef struct Questions {
    int n, room;
    Question *v;
    Arena *arena;
    struct Intern *ids;
} Questions;
Questions questions_new(Arena *);
/* Adds a question, or merges it with an equal one. Strings are copied. */
void questions_add(Questions *, const Question *);
/* Adds the questions of one source, a model or a file, and sets their shares. */
void questions_join(Questions *, const Questions *of_source);
/* Sorts by decreasing share, so that what loses most time in its model comes early even if the
   model is fast; then by decreasing seconds, increasing length of the text, and ID. */
void questions_sort(Questions *);
/* Adds the questions of a file. Returns false with E_ENVIRONMENT if it cannot be read, or with
   E_INVALID and the line. */
bool questions_read(Questions *, const char *path, Error *);
void question_print(const Question *, Text *);
#endif
