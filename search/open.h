/* open.h -- what a run opens before it searches. */
#ifndef ISOMER_OPEN_H
#define ISOMER_OPEN_H
#include "search/run.h"

/* Opens everything that the options of the run name. What can fail because of them or the
   environment alone fails here, before the search. False: the run's error is set. */
bool run_open(Run *);
/* Opens the rules alone: for --list-rules, and again after the bodies of control flow. */
bool run_open_library(Run *);
/* The versions of ONNX's operator set that are understood. Operators of older ones broadcast by
   different rules, and the meaning of later ones is not known: such a model is copied. */
enum { OPSET_OLDEST = 7, OPSET_NEWEST = 28 };
bool opset_known(const Model *); /* its version is one of these, or it imports no such set */
#endif
