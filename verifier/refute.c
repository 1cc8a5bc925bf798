/* refute.c -- searches for sizes and data at which the two sides of a rule differ.

   Values are drawn for the symbols that the equations leave free (for sizes 0, 1 and 2 first), the
   others follow, and every condition is checked. Data are small numbers. Both sides are evaluated
   in rationals, so that a difference is a counterexample. Where a function leaves the rationals,
   elements are compared in doubles, and only a difference far above rounding counts.

   Data without a zero come first, so that a counterexample does not depend on a division by zero if
   there is another one. Data near the limits of integers and near the numbers in the definitions
   come last; where integers of up to 32 bits leave their type there, they go on modulo 2^bits, as
   in a run. Values that are not defined (1/0, the root of a negative number) are at
   first not compared. If nothing else is found, an element that only the left side defines counts,
   too. */
#include "verifier/refute.h"
#include "ops/base/random.h"
#include "ops/core/element.h"
#include "ops/core/eval.h"
#include "verifier/edges.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* TRIES: how often sizes are drawn. While none of them satisfies the conditions, such as n >= 20,
   half of them are drawn from a range that doubles each PATIENCE times. COUNT_MAX: the default for
   RefuteOptions.elements. */
enum { TRIES = 6000, PATIENCE = 500, COUNT_MAX = 4096 };
#define GREATER_FLOPS 2e5 /* operations of both sides at sizes of such a greater range */
/* Kinds of data. DATA_SPREAD has numbers close together and far apart, DATA_EDGES those of
   edges_draw(). */
enum Data { DATA_NONZERO, DATA_INTEGERS, DATA_POSITIVE, DATA_NEGATIVE, DATA_SPREAD, DATA_EDGES };
static const double margin = 1e-6;

typedef struct Refute {
    World *w;
    Arena *arena;
    const Instance *i;
    SizeFacts facts;
    Random random;
    Sizes sizes;
    int64_t *value; /* indexed by symbol */
    int nfree;
    Symbol *free; /* the symbols that are drawn */
    bool *is_size;
    const Numbers *num;
    Tensor *tensor; /* indexed by value */
    bool *failed; /* indexed by the first value of a node: one of its indices is outside its axis */
    uint32_t ntensor;
    const uint32_t *param;
    Number *param_value;
    enum Data data;
    Edges edges;
    int64_t elements; /* the most elements of a tensor */
    bool fails[2];    /* on the left, on the right: an index in the data is outside its axis */
    bool left_only;   /* searches for elements that only the left side defines */
    bool values_only; /* outputs whose sizes differ do not count */
    bool small;
    int factor;  /* of the range of some sizes; usually 1 */
    bool fitted; /* sizes were found that satisfy the conditions, so that factor remains */
} Refute;

/* ---- sizes */

static bool is_free(const Refute *r, Symbol x) {
    return !among(x, r->facts.nsolved, r->facts.from);
}
static void add_free(Refute *r, Symbol x, bool is_size) {
    for (int k = 0; k < r->nfree; k++)
        if (r->free[k] == x) return;
    if (!is_free(r, x) || symbol_def(r->w, x).kind != SYM_NAMED) return;
    r->free[r->nfree] = x;
    r->is_size[r->nfree++] = is_size;
}
static void collect_sizes(Refute *r, Poly p) {
    PolyScan s = poly_scan(r->w, p);
    for (Monomial m; poly_next(&s, &m);)
        for (uint32_t k = 0; k < m.degree; k++) {
            SymbolDef d = symbol_def(r->w, m.symbol[k]);
            for (uint32_t j = 0; j < d.narg; j++) collect_sizes(r, d.arg[j]);
            if (d.kind == SYM_NAMED) add_free(r, m.symbol[k], false);
        }
}
static int64_t drawn_symbol(Refute *r, int try, bool is_size) {
    if (r->small) return 1 + (int64_t)random_below(&r->random, 3);
    if (try < 3 && is_size) return try == 0 ? 1 : try == 1 ? 2 : 0;
    const bool grows = r->factor > 1 && random_below(&r->random, 2);
    const int64_t spread = (try % 3 == 0 ? 7 : try % 3 == 1 ? 3 : 4) * (grows ? r->factor : 1);
    return (int64_t)random_below(&r->random, (uint64_t)spread) -
           (!is_size && random_below(&r->random, 6) == 0);
}
static bool all_hold(const Refute *r) {
    const Instance *i = r->i;
    for (int k = 0; k < i->nsymbol; k++)
        if (i->is_size[k] && r->value[i->symbol[k]] < 0) return false;
    return lits_hold(r->w, i->nwhere, i->where, r->sizes) &&
           lits_hold(r->w, i->nneed_from, i->need_from, r->sizes) &&
           lits_hold(r->w, i->nneed_to, i->need_to, r->sizes);
}
/* The operations of a side at the current sizes. */
static double side_flops(const Refute *r, const Graph *g) {
    const ArenaMark mark = arena_mark(r->arena);
    const NodeList live = graph_live(r->w, r->arena, g);
    double sum = 0;
    for (int k = 0; k < live.n; k++)
        sum += fmax(0, sig_flops(r->w, node_get(r->w, live.v[k]).sig, r->sizes));
    arena_reset(r->arena, mark);
    return sum;
}
static bool draw_sizes(Refute *r, int try) {
    for (int k = 0; k < r->nfree; k++) r->value[r->free[k]] = drawn_symbol(r, try, r->is_size[k]);
    for (int k = 0; k < r->facts.nsolved; k++) {
        Symbol x = r->facts.from[k];
        if (symbol_def(r->w, x).kind != SYM_NAMED) continue;
        if (!poly_eval(r->w, r->facts.to[k], r->sizes, &r->value[x])) return false;
    }
    const bool fit = all_hold(r);
    r->fitted |= fit;
    if (!r->fitted) r->factor = 1 << try / PATIENCE;
    return fit && (r->factor == 1 ||
                   side_flops(r, &r->i->from) + side_flops(r, &r->i->to) <= GREATER_FLOPS);
}

/* ---- values */

static bool shape_of(Refute *r, Value v, Tensor *t) {
    const Type *type = value_type(r->w, v);
    int64_t n = 1;
    *t = (Tensor){.rank = type->dim.n};
    for (int k = 0; k < t->rank; k++) {
        if (!poly_eval(r->w, type->dim.v[k], r->sizes, &t->dim[k]) || t->dim[k] < 0) return false;
        if (__builtin_mul_overflow(n, t->dim[k], &n) || n > r->elements) return false;
    }
    t->v = ARENA_NEW(r->arena, Number, n + 1);
    return true;
}
static const int64_t spread[] = {0, 1, 32, 4004}; /* in sixteenths: near 0, beyond 1, far away */
static Number datum(Refute *r, DType t) {
    int64_t n = (int64_t)random_below(&r->random, 7) - 3;
    char class = dtype_class(t);
    if (r->data == DATA_EDGES) return edges_draw(&r->edges, &r->random, r->num, t);
    if (t == DT_BOOL) return r->num->ratio(n > 0, 1);
    /* For integers, values that are likely to be places on an axis. */
    if (class == 'U' || (class == 'I' && r->data != DATA_INTEGERS))
        return r->num->ratio(n < 0 ? -n : n, 1);
    if (class == 'I') return r->num->ratio(n < -1 ? 0 : n, 1);
    if (r->data == DATA_POSITIVE) n = n < 0 ? -n : n;     /* for roots and logarithms */
    if (r->data == DATA_NEGATIVE) n = n < 0 ? n : -n - 1; /* a zero between them is the greatest */
    if (r->data == DATA_SPREAD) return r->num->ratio((n < 0 ? -1 : 1) * spread[n < 0 ? -n : n], 16);
    return r->data == DATA_NONZERO ? r->num->ratio(2 * n + 1, 2) : r->num->ratio(n, 1);
}
static bool fill_input(Refute *r, Value v) {
    Tensor *t = &r->tensor[v];
    if (!shape_of(r, v, t)) return false;
    int64_t n = tensor_count(t);
    for (int64_t k = 0; k < n; k++) t->v[k] = datum(r, value_type(r->w, v)->dtype);
    return true;
}
static bool fill_constant(Refute *r, Value v, const void *bytes) {
    Tensor *t = &r->tensor[v];
    DType d = value_type(r->w, v)->dtype;
    if (!element_readable(d) || !shape_of(r, v, t)) return false;
    int64_t n = tensor_count(t);
    for (int64_t k = 0; k < n; k++) t->v[k] = r->num->real(element_real(d, bytes, k));
    return true;
}
/* Whether attributes state elements, which may be numbers that the type does not have. */
static bool states_elements(const Op *op) {
    bool any = false;
    for (int k = 0; k < attrs_count(op->attrs); k++) any |= op->attrs[k].element;
    return any;
}
/* Returns whether integers stay in their type, or are brought back to it. Data with which they
   leave it for good show nothing. */
static bool in_type(const Refute *r, const Op *op, DType d, const Tensor *t) {
    const bool is_signed = dtype_class(d) == 'I';
    const int64_t n = dtype_is_integer(d) ? tensor_count(t) : 0;
    const double end = ldexp(1, dtype_bits(d) - is_signed), exact = 0x1p53;
    bool good = true;
    for (int64_t k = 0; k < n && good; k++) {
        const double x = r->num->known(t->v[k]) ? r->num->approx(t->v[k]) : 0;
        good = x <= end && x >= (is_signed ? -end : 0) && (x < end || end > exact);
        if (!good && r->data == DATA_EDGES && !states_elements(op))
            good = edges_wrap(&r->edges, r->num, d, &t->v[k]);
    }
    return good;
}
/* Evaluates all results of a node. Returns false if one cannot be computed; then none is known. */
static bool compute_node(Refute *r, const Node *n, bool *fails) {
    Tensor *in = ARENA_NEW(r->arena, Tensor, n->nin + 1);
    bool good = true;
    for (int k = 0; k < n->nin; k++) {
        if (n->in[k]) in[k] = r->tensor[n->in[k]];
        else in[k].rank = -1;
    }
    for (int k = 0; k < n->nout && good; k++) {
        Ex e = sig_define(r->w, n->sig, k);
        Tensor *t = &r->tensor[n->out + (Value)k];
        Eval eval = {r->w,        r->num,   r->sizes,       n->nin, in,
                     r->i->nreal, r->param, r->param_value, fails};
        good = e && shape_of(r, n->out + (Value)k, t) && eval_tensor(&eval, e, t, NULL) &&
               in_type(r, n->op, value_type(r->w, n->out + (Value)k)->dtype, t);
    }
    for (int k = 0; k < n->nout && !good; k++) r->tensor[n->out + (Value)k].v = NULL;
    return good;
}
/* Both sides may have the same node: it is evaluated once, and fails on both. */
static bool run_node(Refute *r, NodeId id, bool *fails) {
    Node n = node_get(r->w, id);
    const void *bytes;
    bool *failed = &r->failed[n.out];
    if (!r->tensor[n.out].v) {
        *failed = false;
        if (constant_get(r->w, n.out, NULL, &bytes)) return fill_constant(r, n.out, bytes);
        if (!compute_node(r, &n, failed)) return false;
    }
    *fails |= *failed;
    return true;
}
static bool run_graph(Refute *r, const Graph *g, bool *fails) {
    NodeList live = graph_live(r->w, r->arena, g);
    for (int k = 0; k < live.n; k++)
        if (!run_node(r, live.v[k], fails)) return false;
    return true;
}
/* Runs the nodes of which only unread results of composites are computed, if there are any. */
static bool run_unread(Refute *r, const Graph *side, const Graph *whole, bool *fails) {
    return whole->nout == side->nout || run_graph(r, whole, fails);
}
static bool run_both(Refute *r) {
    memset(r->tensor, 0, sizeof *r->tensor * r->ntensor);
    for (int k = 0; k < r->i->ninput; k++)
        if (!fill_input(r, r->i->input[k])) return false;
    for (int k = 0; k < r->i->nreal; k++)
        r->param_value[k] = r->num->ratio(
            (int64_t)random_below(&r->random, 9) + (r->data == DATA_INTEGERS ? -3 : 1), 2);
    r->fails[0] = r->fails[1] = false;
    if (!run_graph(r, &r->i->from, &r->fails[0]) || !run_graph(r, &r->i->to, &r->fails[1]))
        return false;
    /* What nobody reads may fail, too. If that of the left side cannot be computed, it is not known
       whether it fails. */
    const Instance *i = r->i;
    run_unread(r, &i->to, &i->to_whole, &r->fails[1]);
    if (!run_unread(r, &i->from, &i->from_whole, &r->fails[0])) r->fails[1] = false;
    return true;
}

/* ---- comparing */

static bool number_usable(const Refute *r, Number x) {
    return r->num->known(x) && isfinite(r->num->approx(x));
}
static bool differ(const Refute *r, Number a, Number b) {
    if (r->left_only) return number_usable(r, a) && !number_usable(r, b);
    if (!number_usable(r, a) || !number_usable(r, b)) return false;
    if (!numbers_are_doubles(r->num)) return !r->num->equal(a, b);
    double x = a.real, y = b.real, scale = fabs(x) > fabs(y) ? fabs(x) : fabs(y);
    return fabs(x - y) > margin * (1 + scale);
}
/* What is found instead of an element that differs: nothing; the sizes differ; or only the right
   side fails. */
enum { SAME = -1, OTHER_SIZES = -2, FAILS = -3 };
/* Returns the first element that differs, or SAME or OTHER_SIZES. */
static int64_t first_difference(const Refute *r, const Tensor *a, const Tensor *b) {
    if (a->rank != b->rank || memcmp(a->dim, b->dim, sizeof *a->dim * (size_t)a->rank))
        return OTHER_SIZES;
    int64_t n = tensor_count(a);
    for (int64_t k = 0; k < n; k++)
        if (differ(r, a->v[k], b->v[k])) return k;
    return SAME;
}
static bool any_known(const Refute *r, const Tensor *t) {
    int64_t n = tensor_count(t);
    for (int64_t k = 0; k < n; k++)
        if (number_usable(r, t->v[k])) return true;
    return n == 0;
}
static bool left_known(const Refute *r) {
    for (int k = 0; k < r->i->from.nout && !r->fails[0]; k++)
        if (any_known(r, &r->tensor[r->i->from.out[k]])) return true;
    return false;
}

/* ---- telling */

static void number_print(const Refute *r, Number x, Text *t) {
    if (numbers_are_doubles(r->num)) text_add(t, "%.17g", x.real);
    else if (x.ratio.q == 1) text_add(t, "%lld", (long long)x.ratio.p);
    else text_add(t, "%lld/%lld", (long long)x.ratio.p, (long long)x.ratio.q);
}
static void tensor_print(const Refute *r, const Tensor *x, Text *t) {
    int64_t n = tensor_count(x);
    text_add(t, "[");
    for (int k = 0; k < x->rank; k++) text_add(t, k ? ", %lld" : "%lld", (long long)x->dim[k]);
    text_add(t, "] {");
    for (int64_t k = 0; k < n; k++) {
        text_add(t, k ? ", " : "");
        number_print(r, x->v[k], t);
    }
    text_add(t, "}");
}
static void describe_inputs(const Refute *r, int output, int64_t at, Text *t) {
    const Tensor *a = &r->tensor[r->i->from.out[output]], *b = &r->tensor[r->i->to.out[output]];
    const char *line = "";
    for (int k = 0; k < r->i->nsymbol; k++, line = "\n")
        text_add(t, "%s%s=%lld", k ? ", " : "sizes ",
                 world_text(r->w, symbol_def(r->w, r->i->symbol[k]).word),
                 (long long)r->value[r->i->symbol[k]]);
    for (int k = 0; k < r->i->nreal; k++, line = "\n") {
        text_add(t, "%sreal %s=", line, r->i->real[k]);
        number_print(r, r->param_value[k], t);
    }
    for (int k = 0; k < r->i->ninput; k++, line = "\n") {
        text_add(t, "%sinput %%%s ", line, input_name(r->w, r->i->input[k]));
        tensor_print(r, &r->tensor[r->i->input[k]], t);
    }
    if (at == OTHER_SIZES) {
        text_add(t, "%soutput %d has other sizes: ", line, output + 1);
        tensor_print(r, a, t);
        text_add(t, " and ");
        tensor_print(r, b, t);
        return;
    }
    if (at == FAILS) {
        text_add(t, "%san index on the right side is outside its axis", line);
        return;
    }
    int64_t index[RANK_MAX], rest = at;
    for (int k = a->rank; k--; rest /= a->dim[k]) index[k] = rest % a->dim[k];
    text_add(t, "%soutput %d at [", line, output + 1);
    for (int k = 0; k < a->rank; k++) text_add(t, k ? ", %lld" : "%lld", (long long)index[k]);
    text_add(t, "]: left ");
    number_print(r, a->v[at], t);
    text_add(t, ", right ");
    number_print(r, b->v[at], t);
}
static const int64_t *values(const Refute *r) {
    int64_t *v = ARENA_NEW(r->arena, int64_t, r->i->nsymbol + 1);
    for (int k = 0; k < r->i->nsymbol; k++) v[k] = r->value[r->i->symbol[k]];
    return v;
}
static void found_difference(Refute *r, int output, int64_t at, Refutation *out) {
    Text t = text_new(r->arena);
    describe_inputs(r, output, at, &t);
    out->found = true;
    out->output = output;
    out->exact = r->num == &numbers_ratio;
    out->text = t.data;
    out->value = values(r);
}
/* An operator whose index is outside its axis fails as a whole. If the left side fails, there is
   nothing to compare; if no result has an element, the right side may fail. */
static bool compare_sides(Refute *r, Refutation *out) {
    const Graph *from = &r->i->from, *to = &r->i->to;
    bool any = false;
    for (int k = 0; k < from->nout && !r->fails[0]; k++) {
        const Tensor *left = &r->tensor[from->out[k]];
        const int64_t at = first_difference(r, left, &r->tensor[to->out[k]]);
        any |= tensor_count(left) > 0;
        if (at == SAME || (at == OTHER_SIZES && r->values_only)) continue;
        found_difference(r, k, at, out);
        return true;
    }
    if (r->fails[0] || !r->fails[1] || !any) return false;
    found_difference(r, 0, FAILS, out);
    return true;
}
/* Tries one set of data: in rationals if these give numbers in every output, otherwise in doubles.
   False if the sides cannot be computed. */
static bool try_data(Refute *r, Refutation *out) {
    Random before = r->random;
    bool known = true;
    r->num = r->left_only ? &numbers_wary : &numbers_ratio;
    if (!run_both(r)) return false;
    if (compare_sides(r, out)) return true;
    for (int k = 0; k < r->i->from.nout; k++)
        known &= any_known(r, &r->tensor[r->i->from.out[k]]) &&
                 any_known(r, &r->tensor[r->i->to.out[k]]);
    if (known || r->data == DATA_EDGES) return true; /* doubles would round such numbers */
    r->num = &numbers_wary;
    r->random = before;
    if (!run_both(r)) return false;
    compare_sides(r, out);
    return true;
}

static bool prepare_sides(Refute *r, const RefuteOptions *o) {
    World *w = r->w;
    const Instance *i = r->i;
    r->random = (Random){o->seed, 0};
    r->elements = o->elements ? o->elements : COUNT_MAX;
    r->values_only = o->values_only;
    r->small = o->small;
    Overflow overflow = overflow_begin(w);
    bool possible = size_facts(w, r->arena, i, &r->facts);
    if (overflow_end(w, overflow) || !possible) return false;
    uint32_t nsymbol = intern_count(w->table[TABLE_SYMBOL]) + 1;
    r->value = ARENA_NEW(r->arena, int64_t, nsymbol);
    for (uint32_t k = 0; k < nsymbol; k++) r->value[k] = SIZE_UNKNOWN;
    r->sizes = (Sizes){nsymbol, r->value};
    r->free = ARENA_NEW(r->arena, Symbol, nsymbol);
    r->is_size = ARENA_NEW(r->arena, bool, nsymbol);
    for (int k = 0; k < i->nsymbol; k++) add_free(r, i->symbol[k], i->is_size[k]);
    for (int k = 0; k < r->facts.nsolved; k++) collect_sizes(r, r->facts.to[k]);
    r->ntensor = value_last(w) + 1;
    r->tensor = ARENA_NEW(r->arena, Tensor, r->ntensor);
    r->failed = ARENA_NEW(r->arena, bool, r->ntensor);
    uint32_t *param = ARENA_NEW(r->arena, uint32_t, i->nreal + 1);
    for (int k = 0; k < i->nreal; k++) param[k] = world_word(w, i->real[k]);
    r->param = param;
    r->param_value = ARENA_NEW(r->arena, Number, i->nreal + 1);
    return true;
}
/* Tries the kinds of data first..last at up to `shapes` sets of sizes. */
static void try_shapes(Refute *r, int shapes, enum Data first, enum Data last, Refutation *out) {
    out->tried = 0;
    for (int try = 0; try < TRIES && out->tried < shapes && !out->found; try++) {
        if (!draw_sizes(r, try)) continue;
        ArenaMark mark = arena_mark(r->arena);
        for (r->data = first; r->data <= last && !out->found; r->data++) try_data(r, out);
        out->tried++;
        if (!out->found) arena_reset(r->arena, mark);
    }
}
static Refute *refute_new(World *w, Arena *arena, const Instance *i) {
    Refute *r = ARENA_NEW(arena, Refute, 1);
    r->w = w;
    r->arena = arena;
    r->i = i;
    r->factor = 1;
    return r;
}
Refutation refute_instance(World *w, Arena *arena, const Instance *i, const RefuteOptions *o) {
    Refutation out = {0};
    Refute *r = refute_new(w, arena, i);
    if (!prepare_sides(r, o)) return out;
    try_shapes(r, o->shapes, DATA_NONZERO, DATA_NONZERO, &out);
    if (!out.found && !o->quick) try_shapes(r, o->shapes, DATA_INTEGERS, DATA_SPREAD, &out);
    r->left_only = true;
    if (!out.found && !o->defined_only)
        try_shapes(r, o->shapes, DATA_INTEGERS, DATA_POSITIVE, &out);
    if (out.found || o->quick) return out;
    r->left_only = false;
    r->edges = edges_of(w, arena, i);
    if (edges_any(&r->edges)) try_shapes(r, o->shapes, DATA_EDGES, DATA_EDGES, &out);
    return out;
}

/* ---- models */

/* Returns whether one of the models has the current sizes. */
static bool model_known(const Refute *r, int n, const SizeModel *v) {
    while (n--) {
        bool same = true;
        for (int k = 0; k < r->i->nsymbol && same; k++)
            same = v[n].value[k] == r->value[r->i->symbol[k]];
        if (same) return true;
    }
    return false;
}
int refute_models(World *w, Arena *arena, const Instance *i, const RefuteOptions *o,
                  SizeModel *out) {
    Refute *r = refute_new(w, arena, i);
    int n = 0;
    if (!prepare_sides(r, o)) return 0;
    r->num = &numbers_wary;
    for (int try = 0; try < TRIES && n < o->shapes; try++) {
        if (!draw_sizes(r, try) || model_known(r, n, out)) continue;
        const int64_t *value = values(r);
        ArenaMark mark = arena_mark(arena);
        Refutation found = {0};
        int computed = 0;
        bool defined = false;
        for (r->data = DATA_NONZERO; r->data <= DATA_INTEGERS && !found.found; r->data++)
            if (run_both(r)) {
                computed++;
                defined |= left_known(r);
                compare_sides(r, &found);
            }
        arena_reset(arena, mark);
        if (computed)
            out[n++] = (SizeModel){.value = value, .same = !found.found, .undefined = !defined};
    }
    return n;
}
