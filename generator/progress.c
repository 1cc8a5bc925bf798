/* progress.c -- how far a generation is. */
#include "generator/generate_inner.h"
#include <time.h>

double generate_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void generate_tell(Generator *g, const char *stage, uint64_t done, uint64_t total) {
    GenerateProgress p = {stage,
                          g->level,
                          done,
                          total,
                          atomic_load(&g->terms),
                          g->classes->nrep,
                          generate_now() - g->start};
    if (g->o->progress) g->o->progress(g->o->user, &p);
}
