/* eval.c -- evaluates an expression by walking its tree. One array holds the values of all symbols:
   given sizes, the indices of the element, and bound variables while their sum runs. To stay
   simple, nothing is cached: polynomials are evaluated wherever they occur. */
#include "ops/core/eval.h"
#include <string.h>

typedef struct Walk {
    const Eval *e;
    int64_t *value; /* indexed by symbol */
    uint32_t nvalue;
    Error *error;
} Walk;

static bool eval_tree(Walk *, Ex, Number *);

int64_t tensor_count(const Tensor *t) {
    int64_t n = 1;
    for (int k = 0; k < t->rank; k++) n *= t->dim[k];
    return n;
}

static bool eval_fail(Walk *k, const char *what, Poly p) {
    Arena *arena = k->e->w->arena;
    ArenaMark mark = arena_mark(arena);
    Text t = text_new(arena);
    poly_print(k->e->w, p, &t);
    error_set(k->error, E_INVALID, "", "%s: %s", what, t.data);
    arena_reset(arena, mark);
    return false;
}

static bool integer(Walk *k, Poly p, int64_t *out) {
    if (poly_eval(k->e->w, p, (Sizes){k->nvalue, k->value}, out)) return true;
    return eval_fail(k, "no value for", p);
}

static bool condition_holds(Walk *k, const Cond *c, bool *out) {
    *out = true;
    for (int j = 0; j < c->n && *out; j++) {
        int64_t v;
        if (!integer(k, c->v[j].p, &v)) return false;
        *out = c->v[j].eq ? v == 0 : v >= 0;
    }
    return true;
}

static bool element_value(Walk *k, const ExNode *x, Number *out) {
    if ((int)x->word >= k->e->nin || k->e->in[x->word].rank != x->n)
        return error_set(k->error, E_INVALID, "", "input %u is missing or has another rank",
                         x->word);
    const Tensor *t = &k->e->in[x->word];
    int64_t at = 0;
    for (int j = 0; j < x->n; j++) {
        int64_t v;
        if (!integer(k, x->dims[j], &v)) return false;
        if (v < 0 || v >= t->dim[j])
            return error_set(k->error, E_INVALID, "", "index %lld of axis %d is outside input %u",
                             (long long)v, j, x->word);
        at = at * t->dim[j] + v;
    }
    *out = t->v[at];
    return true;
}

static bool parameter(Walk *k, const ExNode *x, Number *out) {
    for (int j = 0; j < k->e->nparam; j++)
        if (k->e->param[j] == x->word) return *out = k->e->value[j], true;
    return error_set(k->error, E_INVALID, "", "parameter %s has no value",
                     world_text(k->e->w, x->word));
}

/* Accumulates into *out the sum or maximum over the bound variables from `depth` on. */
static bool reduce_values(Walk *k, const ExNode *x, int depth, Number *out) {
    const Numbers *num = k->e->num;
    if (depth == x->n) {
        bool yes;
        Number v;
        if (!condition_holds(k, &x->cond, &yes)) return false;
        if (!yes) return true;
        if (!eval_tree(k, x->a, &v)) return false;
        *out = x->kind == EX_SUM ? num->add(*out, v) : num->most(*out, v);
        return true;
    }
    Symbol s = poly_is_symbol(k->e->w, x->dims[depth]);
    int64_t extent, before = k->value[s];
    if (!integer(k, symbol_def(k->e->w, s).arg[0], &extent)) return false;
    bool good = true;
    for (int64_t v = 0; v < extent && good; v++) {
        k->value[s] = v;
        good = reduce_values(k, x, depth + 1, out);
    }
    k->value[s] = before;
    return good;
}

static bool binary_value(Walk *k, const ExNode *x, Number (*f)(Number, Number), Number *out) {
    Number a, b;
    if (!eval_tree(k, x->a, &a) || !eval_tree(k, x->b, &b)) return false;
    *out = f(a, b);
    return true;
}

static bool choice(Walk *k, const ExNode *x, Number *out) {
    Number c;
    if (!eval_tree(k, x->c, &c)) return false;
    if (!k->e->num->known(c)) return *out = c, true;
    return eval_tree(k, k->e->num->approx(c) != 0 ? x->a : x->b, out);
}

/* Evaluates the body at the place that the index means; the result is not known if the index is
   outside the axis. */
static bool eval_take(Walk *k, const ExNode *x, Number *out) {
    Symbol s = poly_is_symbol(k->e->w, x->dims[0]);
    int64_t extent, before = k->value[s];
    Number index;
    if (!integer(k, symbol_def(k->e->w, s).arg[0], &extent) || !eval_tree(k, x->a, &index))
        return false;
    if (!k->e->num->known(index)) return *out = index, true;
    k->value[s] = ex_place(k->e->num->approx(index), extent);
    bool outside = k->value[s] < 0;
    if (outside) *out = k->e->num->call(FN_RECIP, k->e->num->ratio(0, 1));
    if (outside && k->e->outside) *k->e->outside = true;
    bool good = outside || eval_tree(k, x->b, out);
    k->value[s] = before;
    return good;
}

static bool eval_tree(Walk *k, Ex e, Number *out) {
    const Numbers *num = k->e->num;
    ExNode x;
    ex_get(k->e->w, e, &x);
    int64_t n;
    bool yes;
    switch (x.kind) {
    case EX_NUM: return *out = num->ratio(x.p, x.q), true;
    case EX_REAL: return *out = num->real(x.real), true;
    case EX_PARAM: return parameter(k, &x, out);
    case EX_SIZE:
        if (!integer(k, x.size, &n)) return false;
        return *out = num->ratio(n, 1), true;
    case EX_AT: return element_value(k, &x, out);
    case EX_ADD: return binary_value(k, &x, num->add, out);
    case EX_MUL: return binary_value(k, &x, num->mul, out);
    case EX_MAX2: return binary_value(k, &x, num->most, out);
    case EX_MIN2: return binary_value(k, &x, num->least, out);
    case EX_POW: return binary_value(k, &x, num->power, out);
    case EX_FN:
        if (!eval_tree(k, x.a, out)) return false;
        return *out = num->call((Function)x.word, *out), true;
    case EX_IF: return condition_holds(k, &x.cond, &yes) && eval_tree(k, yes ? x.a : x.b, out);
    case EX_WHERE: return choice(k, &x, out);
    case EX_TAKE: return eval_take(k, &x, out);
    case EX_SUM: return *out = num->ratio(0, 1), reduce_values(k, &x, 0, out);
    case EX_MAXIMUM: return *out = num->lowest(), reduce_values(k, &x, 0, out);
    }
    return error_set(k->error, E_INVALID, "", "no expression");
}

/* Allocates the array of symbol values; the caller resets the arena. */
static Walk walk_new(const Eval *e, int rank, Error *error) {
    for (int k = 0; k < rank; k++) symbol_index(e->w, (uint32_t)k);
    uint32_t n = intern_count(e->w->table[TABLE_SYMBOL]) + 1;
    Walk k = {e, ARENA_NEW(e->w->arena, int64_t, n), n, error};
    for (uint32_t s = 0; s < n; s++) k.value[s] = s < e->sizes.n ? e->sizes.value[s] : SIZE_UNKNOWN;
    return k;
}

static bool at_index(Walk *k, Ex e, int rank, const int64_t index[], Number *out) {
    for (int j = 0; j < rank; j++) k->value[symbol_index(k->e->w, (uint32_t)j)] = index[j];
    return eval_tree(k, e, out);
}

bool eval_element(const Eval *e, Ex x, int rank, const int64_t index[], Number *out, Error *error) {
    for (int k = 0; k < rank; k++) symbol_index(e->w, (uint32_t)k);
    ArenaMark mark = arena_mark(e->w->arena);
    Walk k = walk_new(e, rank, error);
    bool good = at_index(&k, x, rank, index, out);
    arena_reset(e->w->arena, mark);
    return good;
}

bool eval_tensor(const Eval *e, Ex x, Tensor *out, Error *error) {
    for (int k = 0; k < out->rank; k++) symbol_index(e->w, (uint32_t)k);
    ArenaMark mark = arena_mark(e->w->arena);
    Walk k = walk_new(e, out->rank, error);
    int64_t index[RANK_MAX] = {0}, n = tensor_count(out);
    bool good = true;
    for (int64_t at = 0; at < n && good; at++) {
        good = at_index(&k, x, out->rank, index, &out->v[at]);
        for (int j = out->rank - 1; j >= 0 && ++index[j] == out->dim[j]; j--) index[j] = 0;
    }
    arena_reset(e->w->arena, mark);
    return good;
}
