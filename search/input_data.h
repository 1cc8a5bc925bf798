/* input_data.h -- what the inputs of a run hold. */
#ifndef ISOMER_INPUT_DATA_H
#define ISOMER_INPUT_DATA_H
#include "search/run.h"

bool run_read_inputs(Run *); /* reads --input, before the model is read */
/* Decides what inputs hold, once their source is open; false: --input does not fit the model. */
bool inputs_feed(RunInputs *, uint64_t seed, Error *);
/* A CheckGiven: what the feed gives for an input of the model. */
bool inputs_data(const void *inputs, const char *name, int sample, DType, int64_t n, void *out);
/* The model did not run: from now on its inputs hold other integers. False: all were tried; nothing
   has changed, and *why says so. */
bool run_other_inputs(Run *, Error *why);
/* Warns if other integers were used; an existing text is kept. */
void run_warn_inputs(const Run *, char *text, size_t n);
/* run_bind_sizes, and inputs of these sizes. */
bool run_select_sizes(Run *, int size_set);
#endif
