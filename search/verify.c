/* verify.c -- the last gate before writing: the new graph against the old one, by numbers. The whole model where all of it runs; else both are cut at the nodes that do not run: what these give is
   random data for both sides, and what they take must agree. */
#include "graphs/check.h"
#include "ops/backend.h"
#include "search/run.h"
#include <stdio.h>
#include <string.h>

enum { CUTS = 4096 };

typedef struct Pair {
    Run *r;
    Graph before, after;
    int nfrom;
    Value *before_out, *after_out; /* of nodes that do not run: both are replaced by one placeholder */
    CheckOptions options;
} Pair;

static const char *class_of(const Derivation *d, const Library *l) {
    unsigned classes = 0;
    for (int k = 0; k < l->n; k++)
        if (d->fired[k]) classes |= l->rule[k].rule->classes;
    if (classes & CLASS_DROPS) return "drops";
    if (classes & CLASS_DIVIDES) return "exp";
    return classes & CLASS_ROUNDS ? "rounds" : classes & CLASS_REASSOCIATES ? "reassociates" : "exact";
}

static void append(Run *r, int *n, const Value **list, Value v) {
    Value *more = ARENA_NEW(r->arena, Value, *n + 1);
    if (*n) memcpy(more, *list, sizeof v * (size_t)*n);
    more[(*n)++] = v;
    *list = more;
}

/* Cuts node `id` of the old graph, and what stands for it in the new one, out of both. False: the new graph has nothing in its place. */
static bool cut(Pair *p, const Derivation *d, NodeId id, Error *e) {
    World *w = p->r->w;
    Node old = node_get(w, id), now = node_get(w, value_node(w, map_value(&d->map, id)));
    char name[48];
    if (now.op != old.op || now.nin != old.nin || now.nout != old.nout) return error_set(e, E_INVALID, old.op->name, "cannot be run");
    for (int k = 0; k < old.nin; k++) {
        if (!old.in[k]) continue;
        append(p->r, &p->before.nout, &p->before.out, old.in[k]);
        append(p->r, &p->after.nout, &p->after.out, now.in[k]);
    }
    for (int port = 0; port < old.nout; port++) {
        const Value v = old.out + (Value)port;
        snprintf(name, sizeof name, "result %u", v);
        Value in = graph_input(w, name, value_type(w, v));
        const Value *a = p->before_out, *b = p->after_out;
        int n = p->nfrom;
        append(p->r, &n, &a, v);
        append(p->r, &p->nfrom, &b, now.out + (Value)port);
        p->before_out = (Value *)(uintptr_t)a;
        p->after_out = (Value *)(uintptr_t)b;
        int nin = p->before.nin;
        append(p->r, &nin, &p->before.in, in);
        append(p->r, &p->after.nin, &p->after.in, in);
        p->before.nin = nin;
    }
    return true;
}

static bool cut_graph(Pair *p, const Graph *g, const Value from[], Graph *out, Error *e) {
    return graph_substitute(p->r->w, p->r->arena, g, p->nfrom, from, p->before.in + p->before.nin - p->nfrom, out, NULL, e);
}

/* Whether the pair agrees, cutting out what does not run until the rest does. */
static bool compare(Pair *p, const Derivation *d, CheckResult *result) {
    Run *r = p->r;
    for (int cuts = 0; cuts < CUTS; cuts++) {
        Graph a, b;
        Error why = {0}, ignored = {0};
        if (!cut_graph(p, &p->before, p->before_out, &a, r->error) || !cut_graph(p, &p->after, p->after_out, &b, r->error)) return false;
        NodeId obstacle = plan_obstacle(r->w, r->arena, &a, r->sizes, &why);
        if (!obstacle) return graphs_check(r->w, &a, &b, r->sizes, &p->options, result, r->error);
        if (!cut(p, d, obstacle, &ignored))
            return error_set(r->error, E_CHECK, r->in, "the result cannot be checked: %s: %s", why.place, why.reason);
        r->stats.check_note = "nodes that our executor does not run were cut out";
    }
    return error_set(r->error, E_LIMIT, r->in, "too many nodes that cannot be run to check the result");
}

static bool verdict(Run *r, const CheckResult *c) {
    const Difference *x = c->run.first >= 0 ? &c->run : &c->oracle;
    r->stats.checked = true;
    r->stats.check_absolute = c->run.max_abs;
    r->stats.check_relative = c->run.max_rel;
    if (c->agrees) return true;
    const char *name = x->output < r->original.nout ? model_output_name(r->model, x->output) : "a value inside";
    return error_set(r->error, E_CHECK, name,
                     "the result differs from the original: element %lld is %.9g, was %.9g (relative to the largest %.3g)",
                     (long long)x->first, x->b, x->a, x->max_rel);
}

bool run_check(Run *r, const Derivation *d) {
    char why[256] = "";
    CheckResult result;
    if (r->o->check <= 0) {
        r->stats.check_note = "not compared (--check 0)";
        return true;
    }
    Pair p = {.r = r, .before = r->original, .after = d->graph};
    p.options = (CheckOptions){
        .backend = backend_open(r->o->backend, r->error), .samples = r->o->check, .seed = r->o->seed, .class = class_of(d, &r->library)};
    if (!p.options.backend) return false;
    p.options.device = p.options.backend->open(NULL, why, sizeof why);
    if (!p.options.device) return error_set(r->error, E_ENVIRONMENT, r->o->backend, "the back end does not open: %s", why);
    bool good = compare(&p, d, &result);
    p.options.backend->close(p.options.device);
    return good && verdict(r, &result);
}
