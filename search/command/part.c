/* part.c -- cuts a place out of the model, rewrites it, and prints both graphs over placeholders,
   so that equal parts are recognized. */
#include "search/command/part.h"
#include "graphs/constants.h"
#include "graphs/fold.h"
#include "graphs/graph_text.h"
#include "graphs/needs.h"
#include "ops/base/file.h"
#include "search/cost_model.h"
#include "search/finish.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A neighbour that takes more than this many times the place's time is left out. */
#define BORDER 4
#define NEAR 20e-6 /* seconds that a neighbour may take in any case */
#define CALL 2e-6  /* seconds that starting a node takes, whatever it computes */
/* The contents of constants of at least this many bytes do not affect times. */
#define DRAWN 16384
/* A share of the growth that the file is allowed. Floats computed from bytes that take more are
   expected to be left as bytes in the whole model, where the target computes them in each run. */
#define UNPACKED 0.25
/* Two graphs with the same operators count as doing the same arithmetic if one does at least this
   share of the other's; they may differ by biases, for example. */
#define ALIKE 0.98
/* No operator is expected to exceed the rate of the target's matrix product by more than this
   factor. */
#define PEAK 1.1

/* A place as a model of its own, and its rewriting, in the run's World. */
typedef struct CutPart {
    RunSource source;
    World *w;
    Arena *arena;
    Error error;
    WorldMark mark;
    ModelPart cut;
    FixpointLimits limits;
    Derivation d;
} CutPart;

/* ---- cutting */

/* Reads the part around the nodes `core` of the whole model. `refer`: the part will not be written,
   so large weights are only referred to. */
static bool read_part(CutPart *p, const Run *whole, const bool core[], PartBorder border,
                      bool refer, const char **why) {
    RunSource *s = &p->source;
    s->sizes = whole->source.sizes;
    if (!model_part(whole->source.model, p->arena, s->sizes, core, border, refer, &p->cut, why))
        return false;
    const OpenOptions open = {.bytes = pieces_join(&p->cut.file, p->arena),
                              .nbytes = p->cut.file.size,
                              .base_path = whole->in,
                              .ndomain = whole->domain.n,
                              .domain = whole->domain.v,
                              .nblob = p->cut.nblob,
                              .blob = p->cut.blob};
    s->model = model_open_with(p->w, "part", &open, &p->error);
    if (!s->model) return *why = arena_format(p->arena, "%s", p->error.reason), false;
    s->original = *model_graph(s->model);
    if (!graph_fold(p->w, p->arena, &s->original, PREFOLD_BYTES, &whole->source.prefold, &s->start,
                    &s->prefold, &p->error))
        return *why = "its constants cannot be computed", false;
    s->model_nodes = value_last(p->w);
    s->facts = graph_facts(p->w, p->arena, &s->original);
    return true;
}

static bool rewrite_part(CutPart *p, const Library *l, const bool core[], const uint8_t role[]) {
    const uint8_t **at = ARENA_NEW(p->arena, const uint8_t *, p->cut.n);
    bool *on = ARENA_NEW(p->arena, bool, l->n);
    for (int k = 0; k < p->cut.n; k++)
        if (core[p->cut.node[k]]) at[k] = role;
    roles_mark(l, role, on);
    const Origins o = origins_find(&p->source, p->w, p->arena);
    const RuleScope scope = origins_scope(&o, p->arena, at);
    p->d = run_derivation(&p->source, l, p->w, p->arena);
    return derive_fixpoint(&p->d, on, &scope, p->limits, &p->error);
}

static PartBorder border_of(const Pricing *x, const Place *at) {
    double own = 0;
    for (int k = 0; k < at->n && x->profile->known; k++) own += x->profile->seconds[at->node[k]];
    return (PartBorder){x->profile->known ? x->profile->seconds : NULL, fmax(NEAR, BORDER * own)};
}

/* Cuts out and rewrites the part of a place. Returns false with *why set, in the arena of the part.
   Call close_part in either case. */
static bool open_part(CutPart *p, const Pricing *x, int place, bool refer, const char **why) {
    Run *whole = x->r;
    const Place *at = &x->places->place[place];
    *p = (CutPart){.w = whole->w, .mark = world_mark(whole->w), .limits = places_limits(whole)};
    p->arena = arena_new(whole->escape, 0);
    bool *core = ARENA_NEW(p->arena, bool, model_stats(whole->source.model).nodes);
    for (int k = 0; k < at->n; k++) core[at->node[k]] = true;
    *why = NULL;
    if (!read_part(p, whole, core, border_of(x, at), refer, why)) return false;
    return rewrite_part(p, &whole->library, core, x->places->set[at->set].applied) ||
           (*why = p->error.reason, false);
}

static void close_part(CutPart *p) {
    model_close(p->source.model);
    arena_free(p->arena);
    world_reset(p->w, p->mark);
}

/* ---- recognizing equal parts */

/* Prints a graph with its inputs, and its constants whose values do not matter, replaced by
   numbered inputs, which are the same for both graphs of a part. */
static void print_alike(CutPart *p, const Graph *g, ValueMap *map, int *serial, Text *t) {
    World *w = p->w;
    Error ignored = {0};
    NodeList live = graph_live(w, p->arena, g), rest = {0, ARENA_NEW(p->arena, NodeId, live.n)};
    Value *out = ARENA_NEW(p->arena, Value, g->nout);
    for (int k = 0; k < live.n; k++) {
        const NodeId v = live.v[k];
        const bool constant = constant_get(w, v, NULL, NULL) && !constant_plain(w, v);
        if (v < map->n && map->to[v]) continue;
        if (input_name(w, v) || constant)
            map->to[v] =
                graph_input(w, arena_format(p->arena, "%c%d", constant ? 'k' : 'r', ++*serial),
                            value_type(w, v));
        else rest.v[rest.n++] = v;
    }
    if (!nodes_substitute(w, p->arena, rest, map, &ignored)) text_add(t, "%s", ignored.reason);
    for (int k = 0; k < g->nout; k++) out[k] = map_value(map, g->out[k]);
    graph_print(w, "part", &(Graph){0, g->nout, NULL, out}, t);
}

typedef struct Spelling {
    int n;
    const char **type; /* ONNX type of each node of the file */
} Spelling;

static Spelling spelling_of(const CutPart *p) {
    const NodeList live = graph_live(p->w, p->arena, &p->source.original);
    Spelling s = {0, ARENA_NEW(p->arena, const char *, live.n)};
    for (int k = 0, last = -1; k < live.n; k++) {
        const int at = model_node_index(p->source.model, live.v[k]);
        model_node_name(p->source.model, live.v[k], &s.type[s.n]);
        s.n += at != last && s.type[s.n];
        last = at;
    }
    return s;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void digest_kind(CutPart *p, Spelling s, char out[33]) {
    Text t = text_new(p->arena);
    if (s.n) qsort(s.type, (size_t)s.n, sizeof *s.type, by_text);
    for (int k = 0; k < s.n; k++)
        if (!k || strcmp(s.type[k], s.type[k - 1])) text_add(&t, "%s ", s.type[k]);
    hash_hex(t.data ? t.data : "", t.size, out);
}

/* Sets the digests of a part. The ONNX nodes that the file uses count, too, since they affect what
   a runtime does with it. */
static void digest_part(CutPart *p, PartPrice *out) {
    Arena *a = p->arena;
    Text before = text_new(a), after = text_new(a);
    ValueMap map = value_map_new(p->w, a);
    int serial = 0;
    const Spelling s = spelling_of(p);
    for (int k = 0; k < s.n; k++) text_add(&before, "%s ", s.type[k]);
    digest_kind(p, s, out->kind);
    print_alike(p, &p->source.start, &map, &serial, &before);
    print_alike(p, &p->d.graph, &map, &serial, &after);
    hash_hex(before.data, before.size, out->before);
    hash_hex(after.data, after.size, out->after);
}

static double estimate_part(CutPart *p) {
    return cost_model(p->w, &p->source.start, p->source.sizes, NULL) +
           CALL * model_stats(p->source.model).nodes;
}

static int add_price(Pricing *x, const PartPrice *price) {
    for (int k = 0; k < x->npart; k++)
        if (!strcmp(x->part[k].before, price->before) && !strcmp(x->part[k].after, price->after)) {
            /* Two sets that do the same at one place count it once. */
            const Places *p = x->places;
            x->part[k].count += p->place[x->part[k].place].set == p->place[price->place].set;
            return k;
        }
    ARENA_GROW(x->r->arena, x->part, x->part_room, x->npart + 1);
    x->part[x->npart] = *price;
    return x->npart++;
}

/* Returns the floating-point operations of the nodes that rules made, except those that depend on
   constants alone. */
static double made_flops(CutPart *p) {
    const Constants c = constants_find(p->w, p->arena, &p->d.graph, NULL, NULL);
    double sum = 0;
    for (int k = 0; k < c.live.n; k++) {
        const Node n = node_get(p->w, c.live.v[k]);
        if (derivation_step(&p->d, n.out) >= 0 && !constants_hold(&c, n.out))
            sum += fmax(0, sig_work(p->w, n.sig, p->source.sizes));
    }
    return sum;
}

/* Returns a lower bound on the seconds of a rewriting that does more arithmetic than before: at the
   rate of the machine, or of the place as it was if that is higher (as with products of bytes, or
   algorithms with fewer operations). 0: there is not more arithmetic, or nothing is known. `most`:
   the place's seconds in the profile. */
static double least_after(CutPart *p, const Profile *profile, double most) {
    const Sizes sizes = p->source.sizes;
    if (!profile->known || most <= 0) return 0;
    const double after = made_flops(p), kept = cost_flops(p->w, &p->d.graph, sizes, NULL) - after,
                 before = cost_flops(p->w, &p->source.start, sizes, NULL) - kept;
    return after > before ? after / fmax(PEAK * profile->flops, before / most) : 0;
}

/* ---- rewritings that only add */

/* Whether the node only moves elements or computes each element by itself. Without such a node,
   most of the time remains. */
static bool light(World *w, const Node *n) {
    const SigKind kind = sig_kind(w, n->sig, 0);
    return kind == SIG_VIEW || kind == SIG_RESHAPE || kind == SIG_ELEMENTWISE;
}

typedef struct Census { /* counts the nodes of a graph that do not depend on constants alone */
    int light, heavy;   /* nodes that are light(), and others */
    int *of;            /* number of nodes by operator */
    double flops;       /* operations of the heavy nodes */
} Census;

static Census take_census(CutPart *p, const Graph *g) {
    const Constants c = constants_find(p->w, p->arena, g, NULL, NULL);
    Census s = {.of = ARENA_NEW(p->arena, int, op_count())};
    for (int k = 0; k < c.live.n; k++) {
        const Node n = node_get(p->w, c.live.v[k]);
        if (constants_hold(&c, n.out) || input_name(p->w, n.out)) continue;
        s.of[n.op_index]++;
        if (light(p->w, &n)) s.light++;
        else s.heavy++, s.flops += fmax(0, sig_work(p->w, n.sig, p->source.sizes));
    }
    return s;
}

/* Whether the rewriting keeps all operators of the part and their arithmetic and adds light
   operators, as when a convolution's bias is split off. That pays only if the target then chooses
   another algorithm. */
static bool only_adds(CutPart *p) {
    const Census a = take_census(p, &p->source.start), b = take_census(p, &p->d.graph);
    if (b.light <= a.light || a.heavy != b.heavy || !(b.flops > ALIKE * a.flops)) return false;
    for (int k = 0; k < op_count(); k++)
        if (b.of[k] < a.of[k]) return false;
    return true;
}

/* ---- prices */

/* Returns the seconds that a place can gain at most. Without a profile nothing is known, and any
   place may gain everything. */
static double gain_most(const Pricing *x, int place) {
    const Place *at = &x->places->place[place];
    return x->profile->known ? profile_nodes(x->profile, at->n, at->node) : HUGE_VAL;
}

bool part_describe(Pricing *x, int place) {
    CutPart p;
    const char *why;
    PartPrice price = {.place = place, .count = 1, .seconds = {-1, -1}};
    x->part_of[place] = -1;
    if (run_cancelled(x->r)) return false;
    const bool good = open_part(&p, x, place, true, &why);
    if (good && p.d.applied) {
        digest_part(&p, &price);
        hash_pieces(&p.cut.file, price.file);
        price.estimate = estimate_part(&p);
        price.gain_most = gain_most(x, place);
        price.after_least = least_after(&p, x->profile, price.gain_most);
        price.adds = only_adds(&p);
        x->part_of[place] = add_price(x, &price);
    }
    if (!good) x->why[place] = arena_format(x->r->arena, "%s", why ? why : "it cannot be read");
    close_part(&p);
    return true;
}

/* ---- writing */

bool part_write(Pricing *x, const PartPrice *price, const char *path[2]) {
    CutPart p;
    Error *e = x->r->error;
    FinishLimits limits = run_finish_limits(x->r);
    limits.drawn = DRAWN;
    limits.unpacked = UNPACKED * (double)x->r->growth_limit;
    const char *why;
    bool good = open_part(&p, x, price->place, false, &why);
    const char *name = arena_format(x->r->arena, "%s/part-%d", x->folder, ++x->nfile),
               *before = arena_format(x->r->arena, "%s-before.onnx", name);
    path[1] = NULL;
    if (good && !path[0]) {
        path[0] = before;
        if (!file_write_pieces(before, p.cut.file.n, p.cut.file.v, e)) return close_part(&p), false;
    }
    if (good && derivation_finish(&p.d, &p.source, &limits, &p.error)) {
        const ModelWrite w = {
            .graph = &p.d.graph, .map = &p.d.map, .tag = derivation_tag, .user = &p.d};
        const char *after = arena_format(x->r->arena, "%s.onnx", name);
        if (model_writable(p.source.model, &w, &why)) {
            path[1] = after;
            if (!model_write(p.source.model, &w, after, e)) return close_part(&p), false;
        }
    }
    close_part(&p);
    return true;
}
