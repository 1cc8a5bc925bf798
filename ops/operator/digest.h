/* digest.h -- digests of what operators mean: the hash of an operator's definition, printed for a
   fixed family of symbolic signatures, or of its expansion. They invalidate proofs when a
   definition changes. */
#ifndef ISOMER_DIGEST_H
#define ISOMER_DIGEST_H
#include "ops/operator/operator.h"

/* Computes the digest: 32 hexadecimal digits. */
void digest_compute(World *, const Op *, char out[33]);
/* Likewise, but the digest of an operator of the table is looked up. */
void op_digest(World *, const Op *, char out[33]);
/* The digests of all operators in the order of the table. print_digests.c computes them when the
   library is built: they depend on compiled definitions only, and would take half of the time in
   which a program starts. */
extern const char digest_table[][33];
#endif
