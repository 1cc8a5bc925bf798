/* expr_inner.h -- the record of an expression in TABLE_EX, used by expr*.c only. */
#ifndef ISOMER_EXPR_INNER_H
#define ISOMER_EXPR_INNER_H
#include "ops/core/expr.h"

/* The record is followed by n polynomials (`dims`) and, for each literal, its polynomial and its
   `eq`. */
typedef struct ExRecord {
    uint8_t kind, n, literals, binds; /* binds: the tree contains a SUM, MAXIMUM or TAKE */
    uint32_t word, size;
    Ex child[EX_CHILDREN];
    uint32_t reads; /* bit k: the tree reads input k; bit 31: an input from 31 on */
    int64_t p, q;   /* EX_REAL: p holds the bits of the double */
} ExRecord;
const ExRecord *ex_record(const World *, Ex);
#endif
