/* reproduce.c -- reduces a disagreement to a small case. Original and result have pairs of values
   that should be equal. Both graphs compute all of them on the data of the check, and the first
   pair that differs is blamed. The region to be shown lies between this pair and the nearest pairs
   before it, which agree. Its inputs are the values that the original computes there, so that
   values computed from one another stay related.

   If the region shows the disagreement as well, it is the reproducer: two graphs as text with
   constants, the data, the result of each side, and the rules applied in between. Otherwise the
   region is extended to the model's inputs. */
#include "graphs/check.h"
#include "ops/base/file.h"
#include "search/input_data.h"
#include "search/check/reproduce.h"
#include "graphs/plan/execute.h"
#include "graphs/graph_text.h"
#include "graphs/npy.h"
#include "graphs/oracle.h"
#include "graphs/rewrite.h"
#include "ops/backend/backend.h"
#include "ops/core/element.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    SAMPLES = 6,    /* samples of the data that are tried */
    LARGE = 1 << 22 /* an input with more elements is not written */
};
typedef struct Pairs {
    Run *r;
    const Derivation *d;
    Arena *arena;
    Sizes sizes;
    CheckOptions options;
    int n;
    Value *old, *now; /* pairs of values that should be equal; old[] is ascending */
    /* Number of inputs of the current region that stand for values of the original. */
    int nboundary;
    Value *boundary; /* these values of the original */
    Value *input;    /* the inputs that stand for them */
    void **computed; /* what the original computes for them */
    int computed_on; /* the sample on which it was computed; -1: none yet */
    const char *folder;
} Pairs;

static bool is_live(NodeList live, Value v, const World *w) {
    return nodes_find(live, value_node(w, v)) >= 0;
}

static void find_pairs(Pairs *p) {
    World *w = p->r->w;
    NodeList old = graph_live(w, p->arena, &p->r->source.original),
             now = graph_live(w, p->arena, &p->d->graph);
    p->old = ARENA_NEW(p->arena, Value, old.n), p->now = ARENA_NEW(p->arena, Value, old.n);
    for (int k = 0; k < old.n; k++) {
        Value v = old.v[k], to = map_value(&p->d->map, v);
        Node n = node_get(w, v);
        bool computed = !input_name(w, v) && !constant_get(w, v, NULL, NULL) && n.nout == 1;
        if (!computed || v == to || !is_live(now, to, w) ||
            value_type_id(w, v) != value_type_id(w, to))
            continue;
        p->old[p->n] = v, p->now[p->n++] = to;
    }
}

/* Returns the data of the original's input k on a sample. */
static const void *model_data(const Pairs *p, int k, int sample, DType t, int64_t n) {
    void *data = arena_alloc(p->arena, element_bytes(t, n));
    const CheckOptions o = {
        .seed = p->options.seed, .given = inputs_data, .given_user = &p->r->inputs};
    check_input(&o, input_name(p->r->w, p->r->source.original.in[k]), t, k, sample, n, data);
    return data;
}

/* Computes the original's values at the boundaries, on the data of a sample. */
static bool compute_boundaries(Pairs *p, int sample) {
    World *w = p->r->w;
    Error ignored = {0};
    const Graph g = {p->r->source.original.nin, p->nboundary, p->r->source.original.in,
                     p->boundary};
    int64_t dim[RANK_MAX], n;
    if (p->computed_on == sample) return true;
    const void **in = ARENA_NEW(p->arena, const void *, g.nin);
    for (int k = 0; k < g.nin; k++) {
        const Type *t = value_type(w, g.in[k]);
        if (!oracle_dims(w, t, p->sizes, dim, &n)) return false;
        in[k] = model_data(p, k, sample, t->dtype, n);
    }
    for (int k = 0; k < p->nboundary; k++) {
        const Type *t = value_type(w, p->boundary[k]);
        if (!oracle_dims(w, t, p->sizes, dim, &n)) return false;
        p->computed[k] = arena_alloc(p->arena, element_bytes(t->dtype, n));
    }
    const Plan *plan = plan_build(w, p->arena, &g, p->sizes, &ignored);
    Runner *runner =
        plan ? runner_new(plan, p->options.backend, p->options.device, &ignored) : NULL;
    const bool ran = runner && runner_run(runner, in, p->computed, &ignored);
    runner_free(runner);
    p->computed_on = ran ? sample : -1;
    return ran;
}

/* Implements CheckGiven: at a boundary, the data is what the original computes there; for an input
   of the model, what the check uses. */
static bool region_data(const void *pairs, const char *input, int sample, DType t, int64_t n,
                        void *out) {
    Pairs *p = (Pairs *)(uintptr_t)pairs;
    for (int k = 0; k < p->nboundary; k++)
        if (!strcmp(input_name(p->r->w, p->input[k]), input)) {
            if (!compute_boundaries(p, sample)) return false;
            memcpy(out, p->computed[k], element_bytes(t, n));
            return true;
        }
    return inputs_data(&p->r->inputs, input, sample, t, n, out);
}

static bool in_either(const Pairs *p, const NodeList live[2], Value v) {
    return is_live(live[0], v, p->r->w) || is_live(live[1], v, p->r->w);
}

/* Removes all boundaries and makes room for n. */
static void set_boundaries(Pairs *p, int n) {
    p->nboundary = 0;
    p->computed_on = -1;
    p->boundary = ARENA_NEW(p->arena, Value, n);
    p->input = ARENA_NEW(p->arena, Value, n);
    p->computed = ARENA_NEW(p->arena, void *, n);
}

/* Makes the graphs of both sides that compute pair `blamed` from the pairs before it (`near`) and
   the model's inputs, or from the model's inputs alone. */
static bool region(Pairs *p, int blamed, bool near, Graph out[2]) {
    int n = near ? blamed : 0;
    Graph side[2] = {{p->r->source.original.nin, 1, p->r->source.original.in, &p->old[blamed]},
                     {p->r->source.original.nin, 1, p->r->source.original.in, &p->now[blamed]}};
    Value *in = ARENA_NEW(p->arena, Value, n);
    for (int k = 0; k < n; k++)
        in[k] = graph_input(p->r->w, arena_format(p->arena, "boundary %d", k),
                            value_type(p->r->w, p->old[k]));
    if (!graph_substitute(p->r->w, p->arena, &side[0], &(Substitution){n, p->old, in}, &out[0],
                          NULL, p->r->error) ||
        !graph_substitute(p->r->w, p->arena, &side[1], &(Substitution){n, p->now, in}, &out[1],
                          NULL, p->r->error))
        return false;
    NodeList live[2] = {graph_live(p->r->w, p->arena, &out[0]),
                        graph_live(p->r->w, p->arena, &out[1])};
    Value *used = ARENA_NEW(p->arena, Value, n + p->r->source.original.nin);
    int m = 0;
    for (int k = 0; k < p->r->source.original.nin; k++)
        if (in_either(p, live, p->r->source.original.in[k]))
            used[m++] = p->r->source.original.in[k];
    set_boundaries(p, n);
    for (int k = 0; k < n; k++) {
        if (!in_either(p, live, in[k])) continue;
        p->boundary[p->nboundary] = p->old[k];
        p->input[p->nboundary++] = used[m++] = in[k];
    }
    for (int k = 0; k < 2; k++) out[k].nin = m, out[k].in = used;
    return true;
}

static bool graphs_differ(Pairs *p, const Graph g[2], int samples, CheckResult *result) {
    Error ignored = {0};
    CheckOptions o = p->options;
    o.samples = samples;
    return graphs_check(p->r->w, &g[0], &g[1], p->sizes, &o, result, &ignored) && !result->agrees;
}

/* Returns the first pair that differs on the data of the check; -1: there is none, or it cannot be
   run. */
static int find_first_wrong(Pairs *p) {
    CheckResult result;
    const Graph all[2] = {{p->r->source.original.nin, p->n, p->r->source.original.in, p->old},
                          {p->r->source.original.nin, p->n, p->r->source.original.in, p->now}};
    if (!p->n || !graphs_differ(p, all, p->r->o->check, &result)) return -1;
    return result.run.first >= 0      ? result.run.output
           : result.oracle.first >= 0 ? result.oracle.output
                                      : -1;
}

/* ---- writing */

static void list_rules(Pairs *p, const Graph *g, Text *t) {
    NodeList live = graph_live(p->r->w, p->arena, g);
    const Library *l = &p->r->library;
    bool *here = ARENA_NEW(p->arena, bool, l->n);
    for (int k = 0; k < live.n; k++) {
        const char *tag = derivation_tag((void *)(uintptr_t)p->d, live.v[k]);
        if (tag) here[library_find(l, tag)] = true;
    }
    for (int k = 0; k < l->n; k++)
        if (here[k]) rule_print(l->rule[k].rule, t), text_add(t, "\n");
}

static void add_fired(Pairs *p, Text *t) {
    for (int k = 0; k < p->r->library.n; k++)
        if (p->d->fired[k]) rule_print(p->r->library.rule[k].rule, t), text_add(t, "\n");
}

static void add_numbers(const Difference *d, const char *what, Text *t) {
    if (d->first >= 0)
        text_add(
            t,
            "# %s: element %" PRId64
            " is %.9g, was %.9g; greatest difference %.3g, relative to the largest element %.3g\n",
            what, d->first, d->b, d->a, d->max_abs, d->max_rel);
}

static bool write_inputs(Pairs *p, const Graph *g, int sample, Text *t) {
    for (int k = 0; k < g->nin; k++) {
        const Type *type = value_type(p->r->w, g->in[k]);
        Npy f = {.dtype = type->dtype, .rank = type->dim.n};
        int64_t n;
        const char *file = arena_format(p->arena, "input-%d.npy", k);
        if (!oracle_dims(p->r->w, type, p->sizes, f.dim, &n) || n > LARGE) continue;
        void *data = arena_alloc(p->arena, element_bytes(type->dtype, n));
        check_input(&p->options, input_name(p->r->w, g->in[k]), type->dtype, k, sample, n, data);
        f.data = data, f.bytes = element_bytes(type->dtype, n);
        text_add(t, "# input %s: %s\n", input_name(p->r->w, g->in[k]), file);
        if (!npy_write(p->arena, arena_format(p->arena, "%s/%s", p->folder, file), &f, p->r->error))
            return false;
    }
    return true;
}

/* Returns the first sample on which the graphs differ; -1: none. */
static int first_sample(Pairs *p, const Graph g[2], CheckResult *result) {
    for (int k = 1; k <= SAMPLES; k++)
        if (graphs_differ(p, g, k, result)) return k - 1;
    return -1;
}

static bool write_region(Pairs *p, int blamed, const Graph g[2], int sample,
                         const CheckResult *result, Text *t) {
    const char *name = model_value_name(p->r->source.model, p->old[blamed]);
    text_add(t,
             "# the smallest part found that differs: the value %s from what comes before it; "
             "sizes that are open are those of this run\n",
             name ? name : "without a name");
    add_numbers(&result->run, "by the built-in runtime", t);
    add_numbers(&result->oracle, "by the definitions, in double", t);
    add_numbers(&result->kernel, "the built-in runtime from the definitions", t);
    if (!write_inputs(p, &g[0], sample, t)) return false;
    text_add(t, "\n# the rules that made it\n\n");
    list_rules(p, &g[1], t);
    graph_print(p->r->w, "original", &g[0], t);
    text_add(t, "\n");
    graph_print(p->r->w, "result", &g[1], t);
    return true;
}

static bool write_all(Pairs *p, const Error *found) {
    Text t = text_new(p->arena);
    CheckResult result;
    Graph g[2];
    int blamed = find_first_wrong(p), sample = -1;
    text_add(
        &t,
        "# optimize-model %s: original and result disagree\n# model %s, digest %s, seed %" PRIu64
        "\n# %s: %s\n",
        isomer_version(), p->r->in, p->r->source.digest, p->options.seed, found->place,
        found->reason);
    for (int near = 1; near >= 0 && blamed >= 0 && sample < 0; near--)
        if (region(p, blamed, near, g)) sample = first_sample(p, g, &result);
    if (sample >= 0) {
        if (!write_region(p, blamed, g, sample, &result, &t)) return false;
    } else {
        text_add(
            &t,
            "# no smaller part was found that differs by itself; all rules that were applied\n\n");
        add_fired(p, &t);
    }
    return file_write(arena_format(p->arena, "%s/region.txt", p->folder), t.data, t.size,
                      p->r->error);
}

void run_reproduce(Run *r, const Derivation *d) {
    Error found = *r->error;
    OpenDevice *open = ARENA_NEW(r->arena, OpenDevice, 1);
    Arena *a = r->arena;
    Pairs p = {.r = r, .d = d, .arena = a, .sizes = r->source.sizes, .computed_on = -1};
    p.options = (CheckOptions){
        .seed = r->seed, .classes = d->classes, .given = region_data, .given_user = &p};
    *r->error = (Error){0};
    p.folder = arena_format(a, "%s.disagreement", r->disagreement_beside);
    bool good = device_open(open, r->escape, r->o->backend, r->o->backend_options, r->error);
    p.options.backend = open->backend, p.options.device = open->device;
    good = good && folder_make(p.folder, r->error);
    find_pairs(&p);
    good = good && write_all(&p, &found);
    device_close(open);
    *r->error = found;
    size_t n = strlen(r->error->reason);
    if (good) snprintf(r->error->reason + n, sizeof r->error->reason - n, "; see %s", p.folder);
}
