/* run_any.c -- runs unrolled programs with the base instruction set that every processor of the
   family has. */
#include "generator/run_body.h"

ProgramRunner program_runner(bool exponents) {
    static const ProgramRunner runners[2] = RUNNERS(any);
    return runners[exponents];
}
