/* backend_steps.c -- drawn steps through every choice of a back end, against the reference.
   Usage: backend_steps BACKEND OPTIONS COUNT [KIND]: so many of each kind, or of one. Prints what
   is wrong and one line a kind; exits 1 if anything is wrong or an algorithm is refused, 5 if the
   back end does not open. */
#include "test/shared/step_cases.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const struct {
    StepKind kind;
    const char *name;
} kinds[] = {{S_COPY, "copy"},     {S_FILL, "fill"},       {S_EWISE, "ewise"},
             {S_REDUCE, "reduce"}, {S_SOFTMAX, "softmax"}, {S_POOL, "pool"},
             {S_GEMM, "gemm"},     {S_CONV, "conv"},       {S_ROWS, "rows"}};
typedef struct Tally {
    int algorithms, wrong, refused;
} Tally;

static void refused(const OpenDevice *d, const Case *c, int algorithm) {
    const void *weights[SLOTS] = {NULL};
    char why[300] = "the second time it is not";
    size_t room;
    Kernel *k =
        d->backend->compile(d->device, &c->step, algorithm, weights, &room, why, sizeof why);
    if (k) d->backend->forget(k);
    printf("algorithm %d is refused: %s\n", algorithm, why);
}
static void run_case(const OpenDevice *d, uint64_t seed, StepKind kind, Tally *t) {
    Case c;
    int64_t count;
    case_start(&c, seed, kind);
    Num *want = ref_run(&c.step, c.slot, &count);
    const int algorithms = d->backend->choices(d->device, &c.step);
    for (int algorithm = 0; algorithm < algorithms; algorithm++) {
        char text[200] = "", what[1500];
        t->algorithms++;
        if (!case_run(&c, d->backend, d->device, algorithm, 0))
            t->refused++, refused(d, &c, algorithm);
        else if (case_compare(&c, want, count, text, sizeof text)) {
            t->wrong++;
            case_describe(&c, what, sizeof what);
            printf("algorithm %d: %s: %s\n", algorithm, text, what);
        }
    }
    free(want);
    case_end(&c);
}

int main(int argc, char **argv) {
    OpenDevice d;
    Error e = {0};
    int wrong = 0;
    if (argc != 4 && argc != 5)
        return fprintf(stderr, "usage: backend_steps BACKEND OPTIONS COUNT [KIND]\n"), 2;
    if (!device_open(&d, NULL, argv[1], argv[2], &e)) return fprintf(stderr, "%s\n", e.reason), 5;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        Tally t = {0};
        const int count = atoi(argv[3]);
        if (argc == 5 && strcmp(argv[4], kinds[k].name) != 0) continue;
        for (int seed = 0; seed < count; seed++) run_case(&d, (uint64_t)seed, kinds[k].kind, &t);
        printf("%s: %d steps, %d algorithms, %d refused, %d wrong\n", kinds[k].name, count,
               t.algorithms, t.refused, t.wrong);
        fflush(stdout);
        wrong += t.wrong + t.refused;
    }
    device_close(&d);
    return wrong > 0;
}
