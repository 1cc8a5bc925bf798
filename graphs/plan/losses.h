/* losses.h -- prints where the time of a plan goes, and how much of it the device would not
   need. */
#ifndef ISOMER_LOSSES_H
#define ISOMER_LOSSES_H
#include "graphs/onnx/onnx.h"
#include "graphs/plan/machine.h"
#include "graphs/plan/plan.h"

/* Prints a table of the steps that every run performs, where seconds[k] is the time of step k, and
   below it the operators that lose most: time beyond the rooflines of their steps. The model gives
   the names of nodes. */
void losses_print(World *, const Model *, const Plan *, const double seconds[], const Machine *,
                  Text *);
#endif
