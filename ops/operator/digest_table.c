/* digest_table.c -- looks up digests, which were computed when the library was built. */
#include "ops/operator/digest.h"
#include "ops/operator/signature.h"
#include <string.h>

void op_digest(World *w, const Op *op, char out[33]) {
    const int k = op_index(op);
    if (k >= 0) memcpy(out, digest_table[k], sizeof digest_table[k]);
    else digest_compute(w, op, out);
}
