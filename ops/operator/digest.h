/* digest.h -- a number for what an operator means; sig_digest keeps it. */
#ifndef ISOMER_DIGEST_H
#define ISOMER_DIGEST_H
#include "ops/operator/operator.h"

void digest_compute(World *, const Op *, char out[33]); /* 32 hexadecimal digits */
#endif
