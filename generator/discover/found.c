/* found.c -- decides which values that equal the question's result become answers. The price, the
   answers known already, smaller questions, and a trial at other sizes decide. */
#include "generator/discover/answer_inner.h"
#include "graphs/resize.h"
#include "graphs/rewrite.h"
#include "rules/export.h"
#include <math.h>
#include <string.h>

enum {
    TRY_SAMPLES = 16, /* sets of sizes at which an answer is compared with the question */
    MODEL_OPSET = 21
};
/* An answer must cost at most this share of the cost of the question or of the last answer. Less
   than 3 % does not count as a gain anywhere (RUN_GAIN in search/run.h). */
#define GAIN 0.97
/* A definition written out may be estimated to cost this many times as much as the question: an
   operator that a target is slow at is worth a measurement, and the estimate does not know the
   target. */
#define WRITTEN_WORSE 20
#define LEAST_COST 1e-9 /* seconds assumed for a free answer, so that it has a ratio */

/* Computes the question's results from the value of a goal. Returns false if that is not
   possible. */
static bool results_of(Search *s, const Goal *g, Value v, Value out[]) {
    for (; g->parent >= 0; g = &s->goals.v[g->parent])
        if (!(v = sig_node(s, g->sig, &v))) return false;
    out[0] = v;
    if (g->axis < 0) return true;
    Attr attr[2] = {{.ints = {1, (Poly[]){poly_int(s->w, g->axis)}}}};
    Poly *size = ARENA_NEW(s->a, Poly, s->g.nout);
    const char *why;
    for (int k = 0; k < s->g.nout; k++) size[k] = value_type(s->w, s->g.out[k])->dim.v[g->axis];
    attr[1].ints = (PolyList){s->g.nout, size};
    Value y = node_make(s->w, &op_split, attr, 1, &v, s->g.nout, &why);
    if (!y || !sig_fits(s, node_get(s->w, y).sig)) return false;
    for (int k = 0; k < s->g.nout; k++) out[k] = y + (Value)k;
    return true;
}

/* Compares the answer with the question at other sizes, with composites expanded, since only
   operators with a definition can be run there. */
static LiftResult try_expanded(Search *s, const Graph *g) {
    Graph y;
    ValueMap map;
    Error ignored = {0};
    if (!graph_expand(s->w, s->l->arena, g, &y, &map, &ignored)) return LIFT_UNTRIED;
    s->l->npositive = 0;
    return lift_try(s->l, &y, TRY_SAMPLES);
}

/* Makes room by dropping the oldest answer, since later ones cost less. Returns false if all
   stay. */
static bool leave_out(Answers *all) {
    int k = 0;
    while (k < all->n && all->v[k].stays) k++;
    if (k == all->n) return false;
    memmove(all->v + k, all->v + k + 1, (size_t)(all->n - k - 1) * sizeof *all->v);
    all->n--;
    return true;
}

/* Writes one side to the folder as a model with the sizes of the part of the model that asked.
   Returns false if that is not possible. */
static bool write_side(Search *s, const Graph *y, const char *path) {
    const char *why = NULL;
    Error ignored = {0};
    const GraphFile file = {path, "place", MODEL_OPSET};
    return export_graph(s->w, s->l->arena, y, file, &why, &ignored);
}

/* Writes the question as ID.onnx and the answer as ID-N.onnx. Returns the latter name, or NULL if
   they cannot be written. */
static const char *write_models(Search *s, const Graph *both) {
    Poly to[LIFT_SYMBOLS];
    Graph y;
    Error ignored = {0};
    if (!s->o->models) return NULL;
    for (int k = 0; k < s->nsize; k++) to[k] = poly_int(s->w, s->real.value[s->size[k]]);
    if (!graph_resize(s->w, s->l->arena, both, (NewSizes){s->nsize, s->size, to}, &y, &ignored))
        return NULL;
    const Graph question = rule_side(&y, 0), answer = rule_side(&y, 1);
    const char *name = arena_format(s->keep, "%s-%d.onnx", s->q->id, ++s->kept.nmodel),
               *first = arena_format(s->l->arena, "%s/%s.onnx", s->o->models, s->q->id),
               *path = arena_format(s->l->arena, "%s/%s", s->o->models, name);
    return write_side(s, &question, first) && write_side(s, &answer, path) ? name : NULL;
}

static void keep_answer(Search *s, const Graph *g, double cost, const char *how, int depth,
                        bool stays) {
    Answers *all = s->answers;
    Text t = text_new(s->l->arena);
    enum { MOST = sizeof all->v / sizeof *all->v };
    int npositive = s->l->npositive;
    Poly positive[LIFT_POSITIVE];
    memcpy(positive, s->l->positive, sizeof positive);
    if (npositive || !lift_print_blocks(s->l, g, &t)) {
        t = text_new(s->l->arena);
        s->l->npositive = npositive;
        memcpy(s->l->positive, positive, sizeof positive);
        lift_print(s->l, g, &t);
    }
    if (all->n == MOST && !leave_out(all)) return;
    all->v[all->n++] = (Answer){arena_string(s->keep, t.data, t.size),
                                s->price / fmax(cost, LEAST_COST),
                                how,
                                depth,
                                stays,
                                write_models(s, g)};
}

/* Whether a node of `live` has the same operator with the same types. Other attributes do not
   matter: a stride along an axis of size 1 makes no difference, for example. */
static bool has_alike(Search *s, NodeList live, Sig sig) {
    const SigInfo *a = sig_info(s->w, sig);
    for (int k = 0; k < live.n; k++) {
        const SigInfo *b = sig_info(s->w, node_get(s->w, live.v[k]).sig);
        bool alike = a->op == b->op && a->nin == b->nin && a->out[0] == b->out[0];
        for (int j = 0; j < a->nin && alike; j++) alike = a->in[j] == b->in[j];
        if (alike) return true;
    }
    return false;
}

/* Whether `live` does everything that the nodes `of` do on data. */
static bool includes(Search *s, NodeList live, NodeList of) {
    for (int k = 0; k < of.n; k++) {
        const Node n = node_get(s->w, of.v[k]);
        if (input_name(s->w, n.out) || value_is_constant(s, n.out)) continue;
        if (!has_alike(s, live, n.sig)) return false;
    }
    return true;
}

/* Whether the result only adds to the question or to an answer known already, at no lower cost. */
static bool adds_only(Search *s, const Value out[], double cost) {
    const Graph y = {s->g.nin, s->g.nout, s->g.in, out};
    const NodeList live = graph_live(s->w, s->a, &y);
    if (cost >= s->price * GAIN && includes(s, live, s->live)) return true;
    for (int k = 0; k < s->kept.n; k++)
        if (cost >= s->kept.cost[k] * GAIN && includes(s, live, s->kept.nodes[k])) return true;
    return false;
}

static void remember(Search *s, const Value out[], double cost) {
    const Graph y = {s->g.nin, s->g.nout, s->g.in, out};
    if (s->kept.n == SEARCH_KEPT) return;
    s->kept.nodes[s->kept.n] = graph_live(s->w, s->a, &y);
    s->kept.cost[s->kept.n++] = cost;
}

/* ---- what smaller questions answer */

static bool is_data_node(Search *s, NodeId id) {
    return !input_name(s->w, id) && !value_is_constant(s, id);
}

static bool same_value(Search *s, Value a, Value b) {
    if (a == b) return true;
    const Lanes *x = a && b ? value_at(s, a) : NULL, *y = x ? value_at(s, b) : NULL;
    const TypeId type = x ? value_type_id(s->w, a) : 0;
    return y && type == value_type_id(s->w, b) &&
           value_key(type, x, count_of(s, type)) == value_key(type, y, count_of(s, type));
}

/* Whether the answer ends with the same operator as the question, on the same values. */
static bool ends_alike(Search *s, const Value out[]) {
    if (s->g.nout != 1 || input_name(s->w, out[0]) || input_name(s->w, s->g.out[0])) return false;
    const Node a = node_get(s->w, value_node(s->w, out[0])),
               b = node_get(s->w, value_node(s->w, s->g.out[0]));
    if (a.sig != b.sig) return false;
    for (int k = 0; k < a.nin; k++)
        if (!same_value(s, a.in[k], b.in[k])) return false;
    return true;
}

static bool smaller_says(Search *s, const Value out[]) {
    int n = 0;
    for (int k = 0; k < s->live.n; k++) n += is_data_node(s, s->live.v[k]);
    return n > 1 && ends_alike(s, out);
}

/* ---- answers */

void goal_met(Search *s, const Goal *goal, Value v, const char *how, int depth) {
    Value *out = ARENA_NEW(s->a, Value, 2 * s->g.nout);
    memcpy(out, s->g.out, (size_t)s->g.nout * sizeof *out);
    if (!results_of(s, goal, v, out + s->g.nout)) return;
    if (!memcmp(out, out + s->g.nout, (size_t)s->g.nout * sizeof *out)) return;
    double cost = graph_cost(s, s->g.nout, out + s->g.nout);
    s->stats->equations++;
    if (cost > s->best * GAIN || smaller_says(s, out + s->g.nout)) return;
    ArenaMark mark = arena_mark(s->l->arena);
    if (adds_only(s, out + s->g.nout, cost)) {
        arena_reset(s->l->arena, mark);
        return;
    }
    Graph both = {s->g.nin, 2 * s->g.nout, s->g.in, out};
    if (try_expanded(s, &both) == LIFT_TRUE) {
        keep_answer(s, &both, cost, how, depth, false);
        remember(s, out + s->g.nout, cost);
        const double bound = cost * (s->o->cost_ratio_most > 1 ? s->o->cost_ratio_most : 1);
        if (bound < s->best) s->best = bound;
    } else {
        s->stats->untrue++;
    }
    arena_reset(s->l->arena, mark);
}

void question_met(Search *s, const Value results[], const char *how, int depth) {
    Value *out = ARENA_NEW(s->a, Value, 2 * s->g.nout);
    memcpy(out, s->g.out, (size_t)s->g.nout * sizeof *out);
    memcpy(out + s->g.nout, results, (size_t)s->g.nout * sizeof *out);
    if (!memcmp(out, results, (size_t)s->g.nout * sizeof *out)) return;
    const double cost = graph_cost(s, s->g.nout, results);
    s->stats->equations++;
    if (cost > s->price * WRITTEN_WORSE) return;
    for (int k = 0; k < s->kept.n; k++)
        if (s->kept.cost[k] == cost) return; /* most likely it is the same answer */
    const ArenaMark mark = arena_mark(s->l->arena);
    const Graph both = {s->g.nin, 2 * s->g.nout, s->g.in, out};
    if (try_expanded(s, &both) == LIFT_TRUE) {
        keep_answer(s, &both, cost, how, depth, true);
        remember(s, results, cost);
    } else {
        s->stats->untrue++;
    }
    arena_reset(s->l->arena, mark);
}
