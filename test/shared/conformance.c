/* conformance.c -- compiles and runs each choice of a step, as often as the suite says, and
   compares the results. */
#include "test/shared/conformance.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const StepCount conformance_kinds[CONFORMANCE_KINDS] = {
    {S_COPY, "copy", 300},     {S_FILL, "fill", 60},  {S_EWISE, "ewise", 450},
    {S_REDUCE, "reduce", 250}, {S_ROWS, "rows", 150}, {S_SOFTMAX, "softmax", 150},
    {S_GEMM, "gemm", 250},     {S_POOL, "pool", 200}, {S_CONV, "conv", 400}};

typedef struct Trial { /* one step and the result it must give */
    const Suite *suite;
    Case c;
    Num *want;
    int64_t count;
    int known;      /* bits, as for case_run */
    char text[400]; /* what is wrong; "" while nothing is */
} Trial;

static const char *reason(Trial *t, int choice, char *why, size_t n) {
    const Suite *s = t->suite;
    const void *weights[SLOTS] = {NULL};
    size_t room;
    snprintf(why, n, "the second time it is not");
    Kernel *k = s->backend->compile(s->device, &t->c.step, choice, weights, &room, NULL, why, n);
    if (k) s->backend->forget(k);
    return why;
}
/* Whether the second device writes the same bytes, guards included. */
static bool twin_agrees(Trial *t, int choice) {
    const Suite *s = t->suite;
    const size_t n = t->c.bytes[0] + 2 * GUARD;
    char *one = malloc(n);
    if (!one) return false;
    memcpy(one, t->c.buffer[0], n);
    const bool same =
        case_run(&t->c, s->backend, s->twin, choice, t->known) && !memcmp(one, t->c.buffer[0], n);
    free(one);
    return same;
}
static void run_choice(Trial *t, int choice, Found *found) {
    const Suite *s = t->suite;
    char why[300];
    /* For each choice, other inputs have known contents, as in real models. */
    t->known =
        s->weights ? 2 * (int)(case_draw(&t->c, 0, 7) | (case_draw(&t->c, 0, 1) ? 0x1f8 : 0)) : 0;
    for (int round = 0; round == 0 || round < s->rounds; round++) {
        if (s->round) s->round(round);
        if (!case_run(&t->c, s->backend, s->device, choice, t->known)) {
            found->refused++;
            if (!choice || !s->may_refuse)
                snprintf(t->text, sizeof t->text, "choice %d is refused: %s", choice,
                         reason(t, choice, why, sizeof why));
            return;
        }
        found->runs++;
        if (case_compare(&t->c, t->want, t->count, why, sizeof why))
            snprintf(t->text, sizeof t->text, "choice %d, round %d: %s", choice, round, why);
        else if (s->twin && !twin_agrees(t, choice))
            snprintf(t->text, sizeof t->text, "choice %d: other bytes on the second device",
                     choice);
        if (*t->text) return;
    }
}
static void run_step(Trial *t, Found *found) {
    const Suite *s = t->suite;
    const int choices = s->backend->choices(s->device, &t->c.step);
    found->steps += choices > 0;
    t->want = ref_run(&t->c.step, t->c.slot, &t->count);
    if (choices < 1 && t->c.step.kind != S_ROWS)
        snprintf(t->text, sizeof t->text, "there is no choice");
    for (int choice = 0; choice < choices && !*t->text; choice++) run_choice(t, choice, found);
    free(t->want);
}

bool conformance_run(const Suite *s, StepKind kind, int count, FILE *on, Found *found) {
    const int before = found->wrong;
    for (int seed = 0; seed < count && (on || !found->wrong); seed++) {
        Trial t = {.suite = s};
        char what[1500];
        case_start(&t.c, (uint64_t)seed, kind);
        run_step(&t, found);
        if (*t.text) {
            case_describe(&t.c, what, sizeof what);
            if (!found->wrong++) snprintf(found->text, sizeof found->text, "%s: %s", t.text, what);
            if (on) fprintf(on, "%s: %s\n", t.text, what);
        }
        case_end(&t.c);
    }
    return found->wrong == before;
}
