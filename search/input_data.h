/* input_data.h -- decides what the inputs of a run hold. */
#ifndef ISOMER_INPUT_DATA_H
#define ISOMER_INPUT_DATA_H
#include "search/run.h"

bool run_read_inputs(Run *); /* reads --input; called before the model is read */
/* Decides what the inputs hold, once their source is open. Returns false with the error set if
   --input does not fit the model. */
bool inputs_feed(RunInputs *, uint64_t seed, Error *);
/* Implements CheckGiven: writes to `out` what the feed gives for an input of the model. */
bool inputs_data(const void *inputs, const char *name, int sample, DType, int64_t n, void *out);
/* Called when the model did not run, with the reason in *why: from now on its inputs hold other
   integers. Returns false if all were tried; then nothing has changed, and *why says so. */
bool run_other_inputs(Run *, Error *why);
/* Adds a warning to `text` (n bytes) if other integers were used (run_warn). */
void run_warn_inputs(const Run *, char *text, size_t n);
/* Calls run_bind_sizes and draws inputs of these sizes. */
bool run_select_sizes(Run *, int size_set);
#endif
