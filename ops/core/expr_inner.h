/* expr_inner.h -- the record of an expression, for expr*.c only. */
#ifndef ISOMER_EXPR_INNER_H
#define ISOMER_EXPR_INNER_H
#include "ops/core/expr.h"

/* Then n polynomials and, for each literal, its polynomial and eq. */
typedef struct ExRecord {
    uint8_t kind, n, literals, binds; /* binds: there is a SUM or MAXIMUM in it */
    uint32_t word, size;
    Ex child[EX_CHILDREN];
    uint32_t reads; /* bit k: reads input k; bit 31: some input from 31 on */
    int64_t p, q;   /* EX_REAL: p holds the double's bits */
} ExRecord;
const ExRecord *ex_record(const World *, Ex);
#endif
