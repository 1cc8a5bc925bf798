/* program.h -- a definition at fixed sizes, unrolled: for every output element the sums of
   products, maxima, function calls and choices of input elements that it is, each computed for
   LANES random points at once, as residues with the double alongside (ops/core/number.h). Guards,
   index arithmetic and numbers are gone when it is made. unroll.c makes it, run_body.h runs it. */
#ifndef ISOMER_PROGRAM_H
#define ISOMER_PROGRAM_H
#include "ops/core/number.h"
#include "ops/operator/signature.h"

enum { LANES = 8 };
typedef struct Lanes { /* one element at LANES points */
    uint32_t p[LANES], q[LANES];
    double order[LANES];
} Lanes;
/* Words: kind, number of operands, destination, operands. An operand is a bank and a place in
   it. */
typedef enum ProgramStep {
    PROGRAM_COPY,
    PROGRAM_SUM,
    PROGRAM_DOT,
    PROGRAM_MOST,
    PROGRAM_LEAST,
    PROGRAM_POWER,
    PROGRAM_CALL,
    PROGRAM_WHERE /* the second operand where the first is not 0, else the third */
} ProgramStep;
/* The first banks are the inputs. */
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
    bool calls; /* has functions: the second residue counts */
} Program;

/* Output `port` of a signature; names in its types, attributes and needs have the values in sizes;
   real variables are constants drawn from their names. NULL: it has no definition, or not at these
   sizes, has more than PROGRAM_INPUTS
   inputs, or is too large. */
Program *program_new(World *, Arena *, Sig, int port, Sizes);
/* in[k]: the elements of input k, PROGRAM_INPUTS of them, NULL where there is none; temp has room
   for ntemp. With exponents, what is not known (a division by zero, a root of a negative number) is
   RESIDUE_NONE at that point, and so is what is made of it. */
typedef void (*ProgramRun)(const Program *, const Lanes *const in[], Lanes *temp, Lanes *out);
/* y[lane] = sum of residue times coefficient modulo 2^64; 2 * LANES coefficients for each
   element. */
typedef void (*ProgramHash)(const Lanes *, int n, const uint32_t *coefficient, uint64_t y[]);
typedef struct ProgramRunner {
    ProgramRun run;
    ProgramHash hash;
} ProgramRunner;
/* For this machine; exponents: with the second residue. */
ProgramRunner program_runner(bool exponents);
#endif
