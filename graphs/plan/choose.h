/* choose.h -- which kernel runs each step of a plan, and what that costs: a back end may have
   several algorithms, and the one measured fastest is taken, in costing and in execution alike. */
#ifndef ISOMER_CHOOSE_H
#define ISOMER_CHOOSE_H
#include "graphs/plan/costdb.h"
#include "graphs/plan/plan.h"
#include "ops/backend/backend.h"

typedef struct ChooseOptions {
    bool measured; /* times come from the file and from the clock; else from a simple model of
                      arithmetic and memory */
    bool frozen;   /* never from the clock */
    uint64_t seed;
    double weights; /* bytes of the model's weights: where they do not stay in the cache, reading
                       them is part of a step's seconds; 0: those of the first plan */
} ChooseOptions;
typedef struct Chooser Chooser;
/* CostDb NULL: no times are stored; else each is stored under the device's identity. NULL: the
   device has none. It lives in the arena; chooser_free frees what does not. */
Chooser *chooser_new(Arena *, CostDb *, const Backend *, Device *, const ChooseOptions *, Error *);
void chooser_free(Chooser *); /* NULL is allowed */
/* Sets the step's choice and gives its seconds; known[j]: the contents of view j never change.
   Choice 0 stays where no other is faster by more than 3 %. */
double choose_step(Chooser *, Arena *scratch, PlanStep *, const bool known[]);
/* Every step, for running: constants are known, inputs are not. The sum of their seconds. */
double choose_plan(Chooser *, Arena *scratch, Plan *);
/* From here on all times are measured again, also those in the file. */
void choose_again(Chooser *);
int chooser_found(const Chooser *); /* times that came from the file */
double choose_model(StepKind, double flops, double bytes);
/* Times that were not in the file of a frozen run, or could not be measured. */
int chooser_missing(const Chooser *);
const char *chooser_identity(const Chooser *);
#endif
