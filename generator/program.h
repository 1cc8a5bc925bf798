/* program.h -- a definition unrolled at fixed sizes.

   A program computes every output element from sums of products, maxima, function calls and choices
   over input elements. Each step works on LANES random points at once, on residues with a double
   alongside (ops/core/number.h). Conditions on indices, index arithmetic and operations on numbers
   are evaluated while the program is made. program.c makes programs; run_body.h runs them. */
#ifndef ISOMER_PROGRAM_H
#define ISOMER_PROGRAM_H
#include "ops/core/number.h"
#include "ops/operator/signature.h"

enum { LANES = 8 };
/* One element at LANES points: two residues, and the double that decides order. */
typedef struct Lanes {
    uint32_t p[LANES], q[LANES];
    double order[LANES];
} Lanes;
/* A step is a sequence of words: its kind, the number of operands, the destination, and the
   operands. The destination and each operand are a bank and a place in it. */
typedef enum ProgramStep {
    PROGRAM_COPY,
    PROGRAM_SUM,
    PROGRAM_DOT,
    PROGRAM_MOST,
    PROGRAM_LEAST,
    PROGRAM_POWER,
    PROGRAM_CALL,
    PROGRAM_WHERE /* the second operand where the first is not 0, otherwise the third */
} ProgramStep;
/* Banks 0 to PROGRAM_INPUTS - 1 are the inputs. */
enum {
    PROGRAM_INPUTS = 8,
    BANK_TEMP = PROGRAM_INPUTS,
    BANK_OUT,
    BANK_CONST,
    BANK_SHIFT = 28,
    PROGRAM_WORDS = 400000
};
typedef struct Program {
    int nword, ntemp, nout;
    const uint32_t *word;
    const Lanes *constant;
    bool calls; /* has a function, a power or a choice by data, so that the second residue counts */
} Program;

/* Unrolls output `port` of a signature, at the values that `sizes` gives to the names in its types,
   attributes and needs. Real variables become constants drawn from their names. Returns NULL if the
   output has no definition, or none at these sizes, if there are more than PROGRAM_INPUTS inputs,
   or if the program would be too large. */
Program *program_new(World *, Arena *, Sig, int port, Sizes);
/* Runs a program. in[k] are the elements of input k (NULL where there is none; there are
   PROGRAM_INPUTS entries); temp has room for ntemp elements. With exponents, an undefined value (a
   division by zero, the root of a negative number) is RESIDUE_NONE at its point, and so is
   everything computed from it. */
typedef void (*ProgramRun)(const Program *, const Lanes *const in[], Lanes *temp, Lanes *out);
/* y[lane] becomes the sum over the elements of residue times coefficient, modulo 2^64. Each element
   has 2 * LANES coefficients: a low and a high half for each lane. */
typedef void (*ProgramHash)(const Lanes *, int n, const uint32_t *coefficient, uint64_t y[]);
typedef struct ProgramRunner {
    ProgramRun run;
    ProgramHash hash;
} ProgramRunner;
/* The fastest functions for this machine; with `exponents` they also compute the second residue. */
ProgramRunner program_runner(bool exponents);
#endif
