/* open.h -- what a run opens before it searches. */
#ifndef ISOMER_OPEN_H
#define ISOMER_OPEN_H
#include "search/run.h"

/* Opens everything that the options of the run name. What can fail because of them or the
   environment alone fails here, before the search. False: the run's error is set. */
bool run_open(Run *);
/* The rules alone. */
bool run_open_library(Run *);
/* Whether the model's version of ONNX's operator set is understood; the range of those that are. */
bool run_known_opset(const Model *, int *oldest, int *newest);
#endif
