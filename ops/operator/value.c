/* value.c -- elements of integer tensors as polynomials over sizes, which is what shape
   computations need. A definition is evaluated with its indices bound to numbers and its inputs to
   known elements. If anything in it is not a polynomial, or a condition is not decided for all
   sizes, the whole value is unknown. */
#include "ops/operator/value.h"
#include "ops/operator/op.h"

typedef struct ValueWalk {
    World *w;
    const Type *const *in;
    const PolyList *value;
    int nbound, nin, steps;
    Symbol from[4 * RANK_MAX];
    Poly to[4 * RANK_MAX];
} ValueWalk;
enum { STEPS_MAX = 100000, ELEMENTS_MAX = 4096 };
static bool value_tree(ValueWalk *, Ex, Poly *out);

static Poly bind_poly(ValueWalk *k, Poly p) {
    return poly_subst(k->w, p, k->nbound, k->from, k->to);
}

/* Whether a symbol can be shown to be >= 0 for all sizes. A polynomial of such symbols with no
   negative coefficient is >= 0, too. */
static bool natural_symbol(const World *w, Symbol s) {
    SymbolDef d = symbol_def(w, s);
    int64_t by;
    switch (d.kind) {
    case SYM_FLOOR: return value_natural(w, d.arg[0]) && poly_constant(w, d.arg[1], &by) && by > 0;
    case SYM_MIN: return value_natural(w, d.arg[0]) && value_natural(w, d.arg[1]);
    case SYM_DATA: return false;
    default: return true;
    }
}
bool value_natural(const World *w, Poly p) {
    Monomial m;
    for (PolyScan s = poly_scan(w, p); poly_next(&s, &m);) {
        if (m.coefficient < 0) return false;
        for (uint32_t k = 0; k < m.degree; k++)
            if (!natural_symbol(w, m.symbol[k])) return false;
    }
    return true;
}
/* Replaces the minimum s, which p has `times` times, by its argument k. */
static Poly with_argument(World *w, Poly p, Symbol s, int64_t times, int k) {
    const Poly apart = poly_sub(w, poly_symbol(w, s), symbol_def(w, s).arg[k]);
    return poly_sub(w, p, poly_scale(w, apart, times));
}
/* Whether p is shown to be >= 0, replacing up to `depth` minima. A minimum that is added may be
   either argument, so both cases must be shown; one that is subtracted is at most either, so one
   case suffices. */
static bool natural_to_depth(World *w, Poly p, int depth) {
    enum { MOST = 4 };
    Symbol least[MOST];
    int64_t times[MOST];
    int n = 0;
    Monomial m;
    if (value_natural(w, p)) return true;
    for (PolyScan s = poly_scan(w, p); depth && n < MOST && poly_next(&s, &m);)
        if (m.degree == 1 && symbol_def(w, m.symbol[0]).kind == SYM_MIN)
            least[n] = m.symbol[0], times[n++] = m.coefficient;
    for (int k = 0; k < n; k++) {
        bool shown[2];
        for (int j = 0; j < 2; j++)
            shown[j] = natural_to_depth(w, with_argument(w, p, least[k], times[k], j), depth - 1);
        if (times[k] > 0 ? shown[0] && shown[1] : shown[0] || shown[1]) return true;
    }
    return false;
}
bool value_natural_by_cases(World *w, Poly p) {
    enum { WITHIN = 3 }; /* minima replaced one within the other */
    return natural_to_depth(w, p, WITHIN);
}
int value_decide(World *w, Lit l) {
    bool never = value_natural(w, poly_sub(w, poly_scale(w, l.p, -1), poly_int(w, 1)));
    bool positive = value_natural(w, poly_sub(w, l.p, poly_int(w, 1)));
    if (l.eq) return l.p == 0 ? 1 : never || positive ? 0 : -1;
    return value_natural(w, l.p) ? 1 : never ? 0 : -1;
}

/* The row-major position of a constant index, or -1. */
static int64_t position(ValueWalk *k, const ExNode *e, const Type *t) {
    int64_t at = 0, i, n;
    for (int a = 0; a < e->n; a++) {
        if (!poly_constant(k->w, bind_poly(k, e->dims[a]), &i) ||
            !poly_constant(k->w, t->dim.v[a], &n) || i < 0 || i >= n)
            return -1;
        at = at * n + i;
    }
    return at;
}
static bool walk_at(ValueWalk *k, const ExNode *e, Poly *out) {
    int input = (int)e->word;
    if (input >= k->nin || !k->value[input].v) return false;
    int64_t at = position(k, e, k->in[input]);
    if (at < 0 || at >= k->value[input].n) return false;
    *out = k->value[input].v[at];
    return true;
}
static bool walk_pair(ValueWalk *k, const ExNode *e, Poly *out) {
    Poly a, b;
    if (!value_tree(k, e->a, &a) || !value_tree(k, e->b, &b)) return false;
    if (e->kind == EX_ADD) *out = poly_add(k->w, a, b);
    else if (e->kind == EX_MUL) *out = poly_mul(k->w, a, b);
    else if (e->kind == EX_MIN2) *out = poly_min(k->w, a, b);
    else *out = poly_sub(k->w, poly_add(k->w, a, b), poly_min(k->w, a, b));
    return true;
}
/* Evaluates abs, the only function that maps integers to integers and is decided by a sign. */
static bool walk_abs(ValueWalk *k, const ExNode *e, Poly *out) {
    if (e->word != FN_ABS || !value_tree(k, e->a, out)) return false;
    int positive = value_decide(k->w, (Lit){*out, false});
    if (positive == 0) *out = poly_scale(k->w, *out, -1);
    return positive >= 0;
}
static int condition_holds(ValueWalk *k, const Cond *c) {
    int all = 1;
    for (int j = 0; j < c->n && all; j++) {
        int one = value_decide(k->w, (Lit){bind_poly(k, c->v[j].p), c->v[j].eq});
        if (one < 1) all = one;
    }
    return all;
}
static bool walk_if(ValueWalk *k, const ExNode *e, Poly *out) {
    int which = condition_holds(k, &e->cond);
    return which >= 0 && value_tree(k, which ? e->a : e->b, out);
}
/* Adds up a sum, binding its variables from number `axis` on to each of their values. */
static bool walk_sum(ValueWalk *k, const ExNode *e, int axis, Poly *out) {
    if (axis == e->n) {
        Poly term = 0;
        int which = condition_holds(k, &e->cond);
        if (which < 0 || (which && !value_tree(k, e->a, &term))) return false;
        *out = poly_add(k->w, *out, term);
        return true;
    }
    int64_t n;
    Symbol s = poly_is_symbol(k->w, e->dims[axis]);
    if (!poly_constant(k->w, bind_poly(k, symbol_def(k->w, s).arg[0]), &n) ||
        k->nbound == 4 * RANK_MAX)
        return false;
    int at = k->nbound++;
    k->from[at] = s;
    bool good = true;
    for (int64_t j = 0; j < n && good; j++) {
        k->to[at] = poly_int(k->w, j);
        good = walk_sum(k, e, axis + 1, out);
    }
    k->nbound = at;
    return good;
}
static bool value_tree(ValueWalk *k, Ex x, Poly *out) {
    ExNode e;
    if (k->steps++ > STEPS_MAX) return false;
    ex_get(k->w, x, &e);
    switch (e.kind) {
    case EX_NUM: *out = poly_int(k->w, e.p); return e.q == 1;
    case EX_SIZE: *out = bind_poly(k, e.size); return true;
    case EX_AT: return walk_at(k, &e, out);
    case EX_ADD:
    case EX_MUL:
    case EX_MIN2:
    case EX_MAX2: return walk_pair(k, &e, out);
    case EX_FN: return walk_abs(k, &e, out);
    case EX_IF: return walk_if(k, &e, out);
    case EX_SUM: *out = 0; return walk_sum(k, &e, 0, out);
    default: return false;
    }
}

/* The number of elements of a type with constant sizes; -1: not constant, or too many elements. */
static int64_t value_count(const World *w, const Type *t) {
    int64_t count = 1, n;
    for (int a = 0; a < t->dim.n; a++) {
        if (!poly_constant(w, t->dim.v[a], &n) || n < 0 || n > ELEMENTS_MAX) return -1;
        count *= n;
        if (count > ELEMENTS_MAX) return -1;
    }
    return count;
}
/* The index of element number `at`, in row-major order, of a tensor with constant sizes. */
static Dims index_of(World *w, const Type *t, int64_t at) {
    Dims i = {.n = t->dim.n};
    for (int a = t->dim.n - 1; a >= 0; a--) {
        int64_t n = 1;
        poly_constant(w, t->dim.v[a], &n);
        i.v[a] = poly_int(w, at % n);
        at /= n;
    }
    return i;
}
bool value_walk(World *w, Ex define, const Type *out, int nin, const Type *const in[],
                const PolyList value[], Poly *elements) {
    int64_t count = value_count(w, out);
    ValueWalk k = {.w = w, .in = in, .value = value, .nin = nin};
    if (count < 0) return false;
    for (int64_t j = 0; j < count; j++) {
        Dims i = index_of(w, out, j);
        k.nbound = i.n;
        for (int a = 0; a < i.n; a++) {
            k.from[a] = symbol_index(w, (uint32_t)a);
            k.to[a] = i.v[a];
        }
        if (!value_tree(&k, define, &elements[j])) return false;
    }
    return true;
}

bool is_natural(Call *c, Poly p) { return value_natural(c->w, p); }
int decide_eq(Call *c, Poly a, Poly b) {
    return value_decide(c->w, (Lit){poly_sub(c->w, a, b), true});
}
int decide_ge(Call *c, Poly a, Poly b) {
    return value_decide(c->w, (Lit){poly_sub(c->w, a, b), false});
}

/* The element of input k that is broadcast to output index i. */
static bool input_element(Call *c, const PolyList in[], int k, Dims i, Poly *out) {
    Dims n = c->in[k]->dim, tail = dims_tail(i, n.n);
    int64_t at = 0, size, index;
    for (int a = 0; a < n.n; a++) {
        if (!poly_constant(c->w, n.v[a], &size) || !poly_constant(c->w, tail.v[a], &index))
            return false;
        at = at * size + (size == 1 ? 0 : index);
    }
    if (!in[k].v || at >= in[k].n) return false;
    *out = in[k].v[at];
    return true;
}
bool value_each(Call *c, const PolyList in[], Poly *out,
                bool (*f)(Call *, const Poly x[], Poly *y)) {
    int64_t count = value_count(c->w, &c->out[0]);
    Poly x[4] = {0};
    if (count < 0 || c->nin > 4) return false;
    for (int64_t j = 0; j < count; j++) {
        Dims i = index_of(c->w, &c->out[0], j);
        for (int k = 0; k < c->nin; k++)
            if (!input_element(c, in, k, i, &x[k])) return false;
        if (!f(c, x, &out[j])) return false;
    }
    return true;
}
