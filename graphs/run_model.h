/* run_model.h -- declares the state of a run of the program run-model, which its files share. */
#ifndef ISOMER_RUN_MODEL_H
#define ISOMER_RUN_MODEL_H
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

/* The bytes of a value that the whole plan computed when it was run up to a step that reads it. */
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
    FeedOptions given; /* the options --input */
    Feed *feed;        /* NULL: not made yet */
    Stage *stage;      /* computed values while the model was read */
    int nfound, found_room;
    FoundValue *found;
    const OpenOptions *opening; /* set while the model is read, else NULL */
    bool staged;                /* the graph depends on data of the feed */
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

/* Functions that return bool return false on failure; the run's error is set then. */

/* Computes the sizes and number of elements of an input or output with this name. */
bool run_tensor_size(ModelRun *, Value, const char *name, int64_t dim[], int64_t *n);

/* run_model.c: reads the model, with the values that were found so far. */
bool run_open(ModelRun *);

/* run_model_count.c: called when the runner has been made. If the plan determines other sizes than
   those that it was made for, reads the model again and sets *changed. */
bool run_recount(ModelRun *, bool *changed);

/* run_model_inputs.c: makes the feed of the model at its sizes; fills in the contents of all
   inputs. */
bool run_feed(ModelRun *);
bool run_fill_inputs(ModelRun *);
/* A StageInput whose `user` is a ModelRun: gives the inputs that sizes depend on while the model is
   read. */
const void *run_stage_input(void *run, int k, const char *name, const Type *,
                            const void *default_bytes);

/* run_model_time.c: runs the plan as often as the options say and prints the times. If a kernel
   does not accept the integers that were drawn, others are tried. */
bool run_repeat(ModelRun *);
/* Print the time of each step (--profile) or the machine's peak rates (--machine). */
bool run_profile(ModelRun *);
bool run_machine(ModelRun *);

/* run_model_outputs.c: checks that no file of --output-dir would overwrite another one or a file
   that the run reads; prints a digest of each output, and writes the outputs to files if the
   options say so. */
bool run_outputs_apart(ModelRun *);
bool run_outputs(ModelRun *);
#endif
