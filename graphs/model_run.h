/* model_run.h -- one run of the program run-model: what its files share. */
#ifndef ISOMER_MODEL_RUN_H
#define ISOMER_MODEL_RUN_H
#include "graphs/feed.h"
#include "graphs/onnx/onnx.h"
#include "graphs/plan/choose.h"
#include "graphs/plan/execute.h"
#include "graphs/plan/stage.h"
#include "ops/backend/backend.h"

typedef struct RunOptions {
    bool version, profile, machine;
    int64_t repeat, seed, threads;
    const char *output_dir, *backend, *backend_options, *dump, *cost_db, *help;
    StringList input, shape, dim, files;
} RunOptions;

/* What a step of the whole plan reads, where the model was read with another plan's. */
typedef struct FoundValue {
    Value value;
    const void *bytes;
} FoundValue;

typedef struct ModelRun {
    RunOptions o;
    World *w;
    Arena *arena;
    Model *model;
    const Graph *graph;
    Sizes sizes;
    FeedOptions given;
    Feed *feed;   /* NULL: not asked for yet */
    Stage *stage; /* what the model was read with */
    int nfound, found_room;
    FoundValue *found;
    const OpenOptions *opening; /* how the model is being read */
    bool staged;                /* the graph depends on what the feed gave */
    const Backend *backend;
    Device *device;
    OpenDevice open;
    CostDb *costs;
    Chooser *chooser;
    Plan *plan;
    Runner *runner;
    const void **in;
    void **out;
    Error *error;
} ModelRun;

/* False, here and below: the run's error is set. */

/* Sizes and number of elements of an input or output of this name. */
bool run_tensor_size(ModelRun *, Value, const char *name, int64_t dim[], int64_t *n);

/* run_model.c: reads the model, with what has been found. */
bool run_open(ModelRun *);

/* run_model_count.c: reads the model again where the plan, whose runner has been made, decides on
   other sizes than those that it was made for. */
bool run_recount(ModelRun *, bool *changed);

/* run_model_inputs.c: the feed of the model at its sizes; the contents of all inputs. */
bool run_feed(ModelRun *);
bool run_fill_inputs(ModelRun *);
/* A StageInput of a ModelRun: what sizes depend on, while the model is read. */
const void *run_stage_input(void *run, int k, const char *name, const Type *, const void *usual);

/* run_model_time.c: runs the plan as often as the options say and prints the times. Where a kernel
   does not take the integers that were drawn, others are tried. */
bool run_repeat(ModelRun *);
/* Prints what each step costs, or the machine's rates (--profile, --machine). */
bool run_profile(ModelRun *);
bool run_machine(ModelRun *);

/* run_model_outputs.c: prints a digest of each output, and writes it if the options say so. */
bool run_outputs(ModelRun *);
#endif
