/* choose.h -- chooses the algorithm for each step of a plan and says what the step costs. A back
   end may have several algorithms for a step; costing and execution both take the one that was
   measured fastest. */
#ifndef ISOMER_CHOOSE_H
#define ISOMER_CHOOSE_H
#include "graphs/plan/costdb.h"
#include "graphs/plan/plan.h"
#include "ops/backend/backend.h"

typedef struct ChooseOptions {
    bool measured; /* times come from the cost file or are measured; else they come from a simple
                      model of arithmetic and memory */
    bool frozen;   /* nothing is measured; times come from the cost file only */
    uint64_t seed; /* of the random inputs of steps that are timed */
    /* Bytes of the model's weights; 0: those of the first plan. If they do not stay in the cache,
       the seconds of a step include reading its weights from memory. */
    double weights;
} ChooseOptions;
typedef struct Chooser Chooser;
/* Makes a chooser in the arena; chooser_free frees what lies outside. Times are stored in the cost
   file under the device's identity, or not at all if CostDb is NULL. Returns NULL if the device has
   no identity. */
Chooser *chooser_new(Arena *, CostDb *, const Backend *, Device *, const ChooseOptions *, Error *);
void chooser_free(Chooser *); /* NULL is allowed */
/* Sets the step's choice and returns its seconds. known[j] says that the contents of view j never
   change. An algorithm is preferred to one with a lower number only if it is more than 3 %
   faster. */
double choose_step(Chooser *, Arena *scratch, PlanStep *, const bool known[]);
/* Chooses for every step of a plan that is to be run, where constants are known and inputs are not;
   returns the sum of the steps' seconds. */
double choose_plan(Chooser *, Arena *scratch, Plan *);
/* From now on, all times are measured again, even those in the file. */
void choose_again(Chooser *);
int chooser_found(const Chooser *); /* number of times that came from the file */
/* Seconds of a step by the simple model, from its operations and bytes. */
double choose_model(StepKind, double flops, double bytes);
/* The number of steps priced by the model because their times were not in the cost file of a frozen
   run, or could not be measured. */
int chooser_missing(const Chooser *);
const char *chooser_identity(const Chooser *);
#endif
