/* print_digests.c -- a program that runs during the build. It computes the digest of every operator
   from the compiled definitions, and prints the C file of digest_table (digest.h). */
#include "ops/operator/digest.h"
#include "ops/operator/signature.h"
#include <stdio.h>

int main(void) {
    printf("#include \"ops/operator/digest.h\"\n\nconst char digest_table[][33] = {\n");
    World *w = world_new(NULL, 0);
    world_init_ops(w);
    for (int k = 0; k < op_count(); k++) {
        char digest[33];
        digest_compute(w, op_at(k), digest);
        printf("    \"%s\", // %s\n", digest, op_at(k)->name);
    }
    world_free(w);
    printf("};\n");
    return fflush(stdout) || ferror(stdout);
}
