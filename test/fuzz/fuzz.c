/* fuzz.c -- the checks that the fuzzing targets share; see fuzz.h. */
#include "test/fuzz/fuzz.h"
#include <stdio.h>
#include <stdlib.h>

void fuzz_need(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

void fuzz_refused(const Error *e) {
    bool documented = e->kind == E_INVALID || e->kind == E_LIMIT || e->kind == E_MEMORY ||
                      e->kind == E_ENVIRONMENT;
    fuzz_need(documented && e->reason[0], "what is refused has a kind and a reason");
}
