/* losses.c -- prints the table of run-model --profile. scripts/bench_runtimes.py and
   bench_roofline.py read its columns. */
#include "graphs/plan/losses.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 12 };
#define SHOW_FROM 0.005 /* operators that lose a smaller share of the time are not shown */

typedef struct Loss { /* what an operator loses */
    const char *op;
    int steps;
    double seconds, lost;
} Loss;

static const char *operator_of(World *w, const Model *m, NodeId node, const char **name) {
    const char *type = NULL;
    *name = model_node_name(m, node, &type);
    if (!*name || !**name) *name = "-";
    return type ? type : node_get(w, node).op->name;
}

/* The seconds that the device would need for the step, but no more than it took. */
static double needed(const Machine *m, const PlanStep *s, double seconds) {
    const double least = machine_least(m, s->flops, s->bytes);
    return least < seconds ? least : seconds;
}

typedef struct Row { /* a row of the table */
    int number;
    const PlanStep *step;
    double seconds, share, needed; /* share: of the total time */
} Row;
static void print_step(World *w, const Model *model, const Row *r, Text *t) {
    const PlanStep *s = r->step;
    const char *name, *op = operator_of(w, model, s->node, &name);
    Text step = text_new(w->scratch);
    if (s->choice) text_add(&step, "algorithm %d of ", s->choice);
    step_print(&s->step, &step);
    const bool timed = r->seconds > 0;
    text_add(t, "%4d %9.3f %5.1f %9.4f %7.2f %9.3f %5.0f  %-16s %s  %.100s\n", r->number,
             1e3 * r->seconds, 100 * r->share, 1e-9 * s->flops,
             timed ? 1e-9 * s->flops / r->seconds : 0, 1e-6 * s->bytes,
             timed ? 100 * r->needed / r->seconds : 100, op, name, step.data);
}

static int by_loss(const void *a, const void *b) {
    const Loss *x = a, *y = b;
    return x->lost < y->lost ? 1 : x->lost > y->lost ? -1 : strcmp(x->op, y->op);
}

static void add_loss(Loss v[], int *n, const char *op, double seconds, double lost) {
    int k = 0;
    while (k < *n && strcmp(v[k].op, op)) k++;
    if (k == *n) v[(*n)++] = (Loss){.op = op};
    v[k].steps++, v[k].seconds += seconds, v[k].lost += lost;
}

static void print_loss(const Loss *x, double total, Text *t) {
    text_add(t, "%-20.20s %5d %9.3f %9.3f %5.1f %%\n", x->op, x->steps, 1e3 * x->seconds,
             1e3 * x->lost, 100 * x->lost / total);
}

static void print_losses(Loss v[], int n, double total, Text *t) {
    qsort(v, (size_t)n, sizeof *v, by_loss);
    text_add(t, "%-20s %5s %9s %9s %7s\n", "operator that loses", "steps", "ms", "lost ms",
             "of all");
    int k = 0;
    for (; k < n && k < SHOWN && v[k].lost > SHOW_FROM * total; k++) print_loss(&v[k], total, t);
    char others[32];
    snprintf(others, sizeof others, "%d others", n - k);
    Loss rest = {.op = others};
    for (int j = k; j < n; j++)
        rest.steps += v[j].steps, rest.seconds += v[j].seconds, rest.lost += v[j].lost;
    if (k < n) print_loss(&rest, total, t);
}

void losses_print(World *w, const Model *model, const Plan *p, const double seconds[],
                  const Machine *m, Text *t) {
    Loss *v = ARENA_NEW(w->scratch, Loss, p->nstep);
    double total = 0, flops = 0, bytes = 0, least = 0;
    int n = 0, steps = 0;
    for (int k = 0; k < p->nstep; k++) {
        const PlanStep *s = &p->step[k];
        const char *name;
        if (s->once) continue;
        const double need = needed(m, s, seconds[k]);
        total += seconds[k], flops += s->flops, bytes += s->bytes, least += need, steps++;
        add_loss(v, &n, operator_of(w, model, s->node, &name), seconds[k], seconds[k] - need);
    }
    const double all = total > 0 ? total : 1;
    machine_print(m, t);
    text_add(t, "step        ms     %%    GFLOP GFLOP/s        MB %%roof  operator         node  "
                "step\n");
    for (int k = 0; k < p->nstep; k++) {
        const PlanStep *s = &p->step[k];
        const Row row = {k, s, seconds[k], seconds[k] / all, needed(m, s, seconds[k])};
        if (!s->once) print_step(w, model, &row, t);
    }
    text_add(t, " all %9.3f 100.0 %9.4f %7.2f %9.3f %5.0f  %d step%s, %.1f MB of work memory\n",
             1e3 * total, 1e-9 * flops, 1e-9 * flops / all, 1e-6 * bytes, 100 * least / all, steps,
             steps == 1 ? "" : "s", 1e-6 * (double)p->work_bytes);
    print_losses(v, n, all, t);
}
