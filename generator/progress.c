/* progress.c -- reports the progress of a run of the generator to the caller. */
#include "generator/generate_inner.h"
#include "ops/base/process.h"

void generate_tell(Generator *g, const char *stage, uint64_t done, uint64_t total) {
    GenerateProgress p = {stage,
                          g->level,
                          done,
                          total,
                          atomic_load(&g->terms),
                          g->classes->nrep,
                          process_clock() - g->start};
    if (g->o->progress) g->o->progress(g->o->user, &p);
}
