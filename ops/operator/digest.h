/* digest.h -- a number for what an operator means: the hash of its definition printed at a fixed
   family of symbolic signatures, or of its expansion. */
#ifndef ISOMER_DIGEST_H
#define ISOMER_DIGEST_H
#include "ops/operator/operator.h"

/* 32 hexadecimal digits. */
void digest_compute(World *, const Op *, char out[33]);
/* The same; of an operator of the table without computing it. */
void op_digest(World *, const Op *, char out[33]);
/* The digests of all operators in the order of the table, computed by print_digests.c when the
   library is built, because they depend on compiled definitions alone and take half of the time in
   which a program starts. */
extern const char digest_table[][33];
#endif
