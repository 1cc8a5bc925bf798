/* run_any.c -- programs run in what every processor has. */
#include "generator/run_body.h"

ProgramRunner program_runner(bool exponents) {
    static const ProgramRunner runners[2] = RUNNERS(any);
    return runners[exponents];
}
