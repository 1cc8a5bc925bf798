/* import.c -- from the trees that operators define to normal forms, one node at a time: the form of
   a value over canonical indices is worked out and simplified once, and put in place, with its
   indices substituted, wherever the value is read. */
#include "verifier/defined.h"
#include "verifier/literals.h"
#include "verifier/wrap.h"
#include "ops/core/element.h"
#include <math.h>
#include <string.h>

enum {
    PAIR_DIVIDE = 1000,
    PAIR_OWN = 2000, /* added in operators that do something else than their definitions read */
    FACTORS_MAX = 8,
    READS_MAX = 64,
    CONSTANT_WORD = 1 << 20,
    UNROLL_MOST = 16
};
typedef struct TreeScope { /* one tree being read */
    NfImport *m;
    const Node *node;
    Dom range;   /* where the indices of its element lie */
    bool wants;  /* wants are collected, not what is read */
    DType dtype; /* of its element */
    bool whole;  /* its numbers are integers or truth values, whose arithmetic does not round */
    int n, room;
    Symbol *from;
    Poly *to;
} TreeScope;

void import_init(NfImport *m) {
    for (int k = 0; k < RANK_MAX; k++) m->index[k] = variable_new(m->p);
    m->room = node_count(m->p->w) + 1;
    m->form = ARENA_NEW(m->p->arena, Nf, m->room);
    m->done = ARENA_NEW(m->p->arena, bool, m->room);
    m->reads = ARENA_NEW(m->p->arena, Parts, m->room);
    m->wants = ARENA_NEW(m->p->arena, Parts, m->room);
    m->stays = ARENA_NEW(m->p->arena, uint8_t, m->room);
}
/* In terms of unsolved sizes. */
static Dims solved_dims(NfImport *m, Value v) {
    Dims d = value_type(m->p->w, v)->dim;
    for (int k = 0; k < d.n; k++)
        d.v[k] = m->nsolved ? poly_subst(m->p->w, d.v[k], m->nsolved, m->from, m->to) : d.v[k];
    return d;
}
Dom import_range(NfImport *m, Value v) {
    Dims d = solved_dims(m, v);
    Prover *p = m->p;
    Lit l[2 * RANK_MAX];
    int n = 0;
    for (int k = 0; k < d.n; k++) {
        if (poly_is(p->w, d.v[k], 1)) continue;
        Poly i = poly_symbol(p->w, m->index[k]);
        l[n++] = (Lit){i, false};
        l[n++] = lit_ge(p, d.v[k], poly_add(p->w, i, poly_int(p->w, 1)));
    }
    return dom_make(p, n, l);
}

/* ---- scopes */

static void bind_symbol(TreeScope *s, Symbol from, Poly to) {
    for (int k = 0; k < s->n; k++)
        if (s->from[k] == from) { /* a tree met again */
            s->to[k] = to;
            return;
        }
    int room = s->room;
    ARENA_GROW(s->m->p->arena, s->from, room, s->n + 1);
    ARENA_GROW(s->m->p->arena, s->to, s->room, s->n + 1);
    s->from[s->n] = from;
    s->to[s->n++] = to;
}
static TreeScope scope_new(NfImport *m, const Node *node, Value v) {
    DType t = value_type(m->p->w, v)->dtype;
    TreeScope s = {.m = m, .node = node, .dtype = t, .whole = dtype_class(t) != 'F'};
    World *w = m->p->w;
    Dims d = solved_dims(m, v);
    for (int k = 0; k < m->nsolved; k++) bind_symbol(&s, m->from[k], m->to[k]);
    for (int k = 0; k < d.n; k++)
        bind_symbol(&s, symbol_index(w, (uint32_t)k),
                    poly_is(m->p->w, d.v[k], 1) ? 0 : poly_symbol(w, m->index[k]));
    return s;
}
static Poly in_scope(TreeScope *s, Poly x) {
    Poly r = poly_subst(s->m->p->w, x, s->n, s->from, s->to);
    if (overflow_noted(s->m->p->w)) prover_fail(s->m->p, "a size exceeds 64 bits");
    return r;
}
static Dom condition(TreeScope *s, const Cond *c) {
    Lit l[COND_MAX];
    for (int k = 0; k < c->n; k++) l[k] = (Lit){in_scope(s, c->v[k].p), c->v[k].eq};
    return dom_make(s->m->p, c->n, l);
}
/* A fresh variable for one of a sum, with its range. */
static Dom open_variable(TreeScope *s, Symbol old, Symbol *var) {
    Prover *p = s->m->p;
    Poly n = in_scope(s, symbol_def(p->w, old).arg[0]), v;
    *var = variable_new(p);
    v = poly_symbol(p->w, *var);
    bind_symbol(s, old, v);
    return dom_make(p, 2, (Lit[]){{v, false}, lit_ge(p, n, poly_add(p->w, v, poly_int(p->w, 1)))});
}
/* Fresh variables for those of a sum, with their ranges and its condition. */
static Dom open_range(TreeScope *s, const ExNode *x, Symbol *var) {
    Prover *p = s->m->p;
    Dom d = DOM_TRUE;
    for (int k = 0; k < x->n; k++)
        d = dom_and(p, d, open_variable(s, poly_is_symbol(p->w, x->dims[k]), &var[k]));
    return dom_and(p, d, condition(s, &x->cond));
}
/* The complement of a conjunction as disjoint sets. */
static int complement(Prover *p, Dom d, Dom out[2 * COND_MAX]) {
    Lits l = dom_lits(p, d);
    int n = 0;
    Dom before = DOM_TRUE;
    for (int k = 0; k < l.n; k++) {
        Lit no[2];
        for (int j = lit_negate(p, l.v[k], no); j--;) out[n++] = dom_with(p, before, no[j]);
        before = dom_with(p, before, l.v[k]);
    }
    return n;
}

/* ---- trees */

static Nf tree(TreeScope *, Dom ctx, Ex);

static Nf number_nf(Prover *p, DType t, const ExNode *x) {
    if (x->kind != EX_NUM) return nf_atom(p, atom_real(p, x->real));
    Ratio v = ratio(x->p, x->q);
    bool rounded = p->literals && dtype_class(t) == 'F' && !type_holds(t, v.p, v.q);
    return rounded ? nf_atom(p, atom_real(p, (double)x->p / (double)x->q)) : nf_number(p, v);
}
static Map index_map(TreeScope *s, const ExNode *x, Poly to[RANK_MAX]) {
    for (int k = 0; k < x->n; k++) to[k] = in_scope(s, x->dims[k]);
    return (Map){x->n, s->m->index, to};
}
static Nf access(TreeScope *s, const ExNode *x) {
    Poly to[RANK_MAX];
    Value v = s->node->in[x->word];
    Nf form = import_value(s->m, v);
    return nf_subst(s->m->p, form, index_map(s, x, to));
}
static bool is_recip(TreeScope *s, Ex e, Ex *of) {
    ExNode x;
    ex_get(s->m->p->w, e, &x);
    *of = x.a;
    return x.kind == EX_FN && x.word == FN_RECIP;
}
/* x*1 and products of numbers that are numbers of the type are exact (x + 0 is not: -0 + 0 is 0);
   the rest is kept as it is. */
static Nf exact_pair(TreeScope *s, Dom ctx, const ExNode *x) {
    Prover *p = s->m->p;
    const uint32_t own = s->node->op->flags & OP_SELECTS ? PAIR_OWN : 0;
    Ratio a, b;
    Ex divisor;
    if (x->kind == EX_MUL && is_recip(s, x->b, &divisor)) {
        Nf q = tree(s, ctx, divisor);
        Nf top = tree(s, ctx, x->a);
        return nf_constant(p, q, &b) && ratio_is(b, 1)
                   ? top
                   : apply_pair(p, ctx, own + PAIR_DIVIDE, top, q);
    }
    Nf l = tree(s, ctx, x->a), r = tree(s, ctx, x->b);
    bool cl = nf_constant(p, l, &a), cr = nf_constant(p, r, &b);
    if (x->kind == EX_MUL && cl && ratio_is(a, 1)) return r;
    if (x->kind == EX_MUL && cr && ratio_is(b, 1)) return l;
    Ratio ab = x->kind == EX_MUL && cl && cr ? ratio_times(p, a, b) : ratio(0, 1);
    if (x->kind == EX_MUL && cl && cr && a.q == 1 && b.q == 1 && type_holds(s->dtype, a.p, 1) &&
        type_holds(s->dtype, b.p, 1) && type_holds(s->dtype, ab.p, 1))
        return nf_number(p, ab);
    return apply_pair(p, ctx, own + x->kind, l, r);
}
static Nf power_nf(TreeScope *s, Dom ctx, const ExNode *x) {
    Prover *p = s->m->p;
    Ratio c;
    Nf a = tree(s, ctx, x->a), b = tree(s, ctx, x->b);
    return nf_constant(p, b, &c) ? apply_power(p, ctx, a, c) : apply_pair(p, ctx, EX_POW, a, b);
}
static Nf choice(TreeScope *s, Dom ctx, const ExNode *x) {
    Prover *p = s->m->p;
    Dom yes = condition(s, &x->cond), no[2 * COND_MAX];
    Nf sum = 0;
    if (!dom_false(p, yes)) sum = nf_guard(p, tree(s, dom_and(p, ctx, yes), x->a), yes);
    for (int k = complement(p, yes, no); k--;)
        if (!dom_false(p, no[k]))
            sum = nf_add(p, sum, nf_guard(p, tree(s, dom_and(p, ctx, no[k]), x->b), no[k]));
    return sum;
}
/* A form that is a polynomial in elements of inputs, as an integer. truth: they are truth values, 0
   or 1. */
static Poly read_factor(Prover *p, const AtomInfo *a, bool truth) {
    if (a->kind == AT_SIZE) return poly_symbol(p->w, a->word);
    if (a->kind == AT_VALUE) return a->index[0];
    if (a->kind != AT_INPUT)
        prover_fail(p, "an index or a condition is not a polynomial in elements of the inputs");
    Poly x = poly_read(p->w, a->word, a->index, a->nindex);
    return truth ? poly_place(p->w, x, poly_int(p->w, 2)) : x;
}
static Poly data_polynomial(Prover *p, Nf nf, bool truth) {
    Poly sum = 0;
    int n = nf_size(p, nf);
    for (int k = 0; k < n; k++) {
        Ratio c;
        const NfTerm *t = &nf_body(p, nf, k, &c)->term;
        bool whole = !t->nvar && !t->dom && c.q == 1;
        Poly product = poly_int(p->w, c.p);
        for (int j = 0; j < t->nfactor && whole; j++) {
            Ratio power = t->factor[j].power;
            whole = power.q == 1 && power.p > 0 && power.p <= FACTORS_MAX;
            for (int64_t i = 0; i < power.p && whole; i++)
                product =
                    poly_mul(p->w, product, read_factor(p, atom_info(p, t->factor[j].atom), truth));
        }
        if (!whole)
            prover_fail(p, "an index or a condition is not a polynomial in elements of the inputs");
        sum = poly_add(p->w, sum, product);
    }
    return sum;
}
/* Where the condition holds and where not, as disjoint guards: conditions on data are guards like
   any other. */
enum { SIDES_MAX = 3 * CELLS_MAX };
typedef struct ChoiceSide {
    Dom known, guard;
    bool yes;
} ChoiceSide;
static int data_sides(TreeScope *s, Dom ctx, const ExNode *x, ChoiceSide out[SIDES_MAX]) {
    Prover *p = s->m->p;
    Cell cell[CELLS_MAX];
    Nf c = tree(s, ctx, x->c);
    int n = cells_make(p, ctx, 1, &c, 0, NULL, cell), count = 0;
    for (int k = 0; k < n; k++) {
        Lit side[3] = {{data_polynomial(p, cell_restrict(p, c, cell[k].known), true), true}};
        int m = 1 + lit_negate(p, side[0], side + 1);
        for (int j = 0; j < m; j++) {
            Dom d = dom_make(p, 1, &side[j]);
            if (dom_false(p, d) || (d && prover_empty(p, dom_and(p, ctx, cell[k].known), d)))
                continue;
            out[count++] =
                (ChoiceSide){dom_and(p, cell[k].known, d), dom_and(p, cell[k].guard, d), j > 0};
        }
    }
    return count;
}
static Nf choice_by_data(TreeScope *s, Dom ctx, const ExNode *x) {
    Prover *p = s->m->p;
    ChoiceSide side[SIDES_MAX];
    Nf sum = 0;
    for (int k = data_sides(s, ctx, x, side); k--;)
        sum = nf_add(p, sum,
                     nf_guard(p, tree(s, dom_and(p, ctx, side[k].known), side[k].yes ? x->a : x->b),
                              side[k].guard));
    return sum;
}
/* Binds the variable of a TAKE to the place that the index means in this cell; returns the
   index. */
static Poly bind_place(TreeScope *s, const ExNode *x, Nf index, const Cell *cell) {
    Prover *p = s->m->p;
    Symbol old = poly_is_symbol(p->w, x->dims[0]);
    Poly e = data_polynomial(p, cell_restrict(p, index, cell->known), false);
    bind_symbol(s, old, poly_place(p->w, e, in_scope(s, symbol_def(p->w, old).arg[0])));
    return e;
}
static Nf take_nf(TreeScope *s, Dom ctx, const ExNode *x) {
    Prover *p = s->m->p;
    Cell cell[CELLS_MAX];
    Nf index = tree(s, ctx, x->a), sum = 0;
    int n = cells_make(p, ctx, 1, &index, 0, NULL, cell);
    for (int k = 0; k < n; k++) {
        bind_place(s, x, index, &cell[k]);
        sum = nf_add(p, sum,
                     nf_guard(p, tree(s, dom_and(p, ctx, cell[k].known), x->b), cell[k].guard));
    }
    return sum;
}
/* Is there a point of the part's domain wherever ctx holds? Conditions on sizes alone may follow
   where the result is used: they are collected. */
static void check_inhabited(Prover *p, Dom ctx, const Part *part) {
    Dom d = part->dom;
    bool plain = true;
    for (int k = 0; k < part->nvar && plain; k++) plain = project(p, &d, part->var[k], 0, NULL);
    Lits l = dom_lits(p, d);
    for (int k = 0; k < l.n && plain; k++) {
        const Symbol *v;
        if (prover_entails(p, ctx, dom_make(p, 1, &l.v[k]))) continue;
        plain = !poly_variables(p, l.v[k].p, &v);
        p->inhabited = dom_with(p, p->inhabited, l.v[k]);
    }
    p->maybe_empty |= !plain;
}
/* How many values each variable of a sum takes where these are few numbers, else 0. */
static const int *few_values(TreeScope *s, const ExNode *x) {
    Prover *p = s->m->p;
    int *count = ARENA_NEW(p->arena, int, x->n + 1);
    for (int k = 0, product = 1; k < x->n; k++) {
        int64_t n;
        if (!poly_constant(
                p->w, in_scope(s, symbol_def(p->w, poly_is_symbol(p->w, x->dims[k])).arg[0]), &n) ||
            n < 1 || n * product > UNROLL_MOST)
            continue;
        product *= count[k] = (int)n;
        p->unrollable = true;
    }
    return count;
}
/* The sum over var where d, written out over the first variable of few values, then over the
   rest. */
static Nf written_out(Prover *p, Nf body, int n, const Symbol *var, const int *count, Dom d) {
    int k = 0;
    while (k < n && !count[k]) k++;
    if (dom_false(p, d)) return 0;
    if (k == n) return n ? nf_bind(p, body, n, var, d) : nf_guard(p, body, d);
    Symbol *rest = ARENA_NEW(p->arena, Symbol, n);
    int *counts = ARENA_NEW(p->arena, int, n);
    for (int j = 0; j < n - 1; j++) rest[j] = var[j + (j >= k)], counts[j] = count[j + (j >= k)];
    Nf sum = 0;
    for (int value = 0; value < count[k]; value++) {
        Poly to = poly_int(p->w, value);
        Map m = {1, &var[k], &to};
        sum = nf_add(p, sum,
                     written_out(p, nf_subst(p, body, m), n - 1, rest, counts, dom_subst(p, d, m)));
    }
    return sum;
}
static Nf reduction_nf(TreeScope *s, Dom ctx, const ExNode *x) {
    Prover *p = s->m->p;
    Symbol *var = ARENA_NEW(p->arena, Symbol, x->n + 1);
    const int *count = few_values(s, x);
    Dom d = open_range(s, x, var);
    Part part = {x->n, var, d, tree(s, dom_and(p, ctx, d), x->a)};
    if (x->kind == EX_MAXIMUM) check_inhabited(p, ctx, &part);
    if (x->kind == EX_SUM && !p->exact)
        return p->unroll ? written_out(p, part.nf, x->n, var, count, d)
                         : nf_bind(p, part.nf, x->n, var, d);
    part = part_simplify(p, ctx, part);
    if (x->kind == EX_MAXIMUM) return apply_max(p, ctx, 1, &part);
    return apply_sum(p, ctx, part); /* of one element, too: 0 + -0 is 0 */
}
static Nf least_nf(Prover *p, Dom ctx, Nf a, Nf b) {
    return nf_add(p, nf_add(p, a, b), nf_scale(p, apply_max2(p, ctx, a, b), ratio(-1, 1)));
}
static Nf tree(TreeScope *s, Dom ctx, Ex e) {
    Prover *p = s->m->p;
    ExNode x;
    ex_get(p->w, e, &x);
    bool arithmetic = x.kind == EX_ADD || x.kind == EX_MUL || x.kind == EX_POW;
    if (p->exact && arithmetic && !s->whole) return exact_pair(s, ctx, &x);
    switch (x.kind) {
    case EX_NUM:
    case EX_REAL: return number_nf(p, s->dtype, &x);
    case EX_PARAM: return nf_atom(p, atom_simple(p, AT_PARAM, x.word));
    case EX_SIZE: return nf_polynomial(p, in_scope(s, x.size));
    case EX_AT: return access(s, &x);
    case EX_ADD: return nf_add(p, tree(s, ctx, x.a), tree(s, ctx, x.b));
    case EX_MUL: return nf_mul(p, tree(s, ctx, x.a), tree(s, ctx, x.b));
    case EX_MAX2: return apply_max2(p, ctx, tree(s, ctx, x.a), tree(s, ctx, x.b));
    case EX_MIN2: return least_nf(p, ctx, tree(s, ctx, x.a), tree(s, ctx, x.b));
    case EX_POW: return power_nf(s, ctx, &x);
    case EX_FN: return apply_function(p, ctx, (Function)x.word, tree(s, ctx, x.a));
    case EX_IF: return choice(s, ctx, &x);
    case EX_WHERE: return choice_by_data(s, ctx, &x);
    case EX_TAKE: return take_nf(s, ctx, &x);
    case EX_SUM:
    case EX_MAXIMUM: return reduction_nf(s, ctx, &x);
    }
    return 0;
}

/* ---- values */

static int input_number(NfImport *m, Value v) {
    for (int k = 0; k < m->ninput; k++)
        if (m->input[k] == v) return k;
    return -1;
}
static Atom element_atom(NfImport *m, Value v, uint32_t word) {
    Prover *p = m->p;
    Dims d = solved_dims(m, v);
    Poly index[RANK_MAX];
    for (int k = 0; k < d.n; k++)
        index[k] = poly_is(p->w, d.v[k], 1) ? 0 : poly_symbol(p->w, m->index[k]);
    return atom_input(p, word, d.n, index);
}
/* A constant of one float or integer is a number; other constants are tensors like inputs. */
static Nf constant_nf(NfImport *m, Value v) {
    Type t;
    const void *bytes;
    float x;
    constant_get(m->p->w, v, &t, &bytes);
    bool whole = dtype_class(t.dtype) == 'I' || dtype_class(t.dtype) == 'U';
    if ((t.dtype != DT_FLOAT && !whole) || type_count(m->p->w, &t) != poly_int(m->p->w, 1))
        return nf_atom(m->p, element_atom(m, v, CONSTANT_WORD + v));
    if (whole) return nf_number(m->p, ratio(element_integer(t.dtype, bytes, 0), 1));
    memcpy(&x, bytes, sizeof x);
    ExNode n;
    ex_get(m->p->w, ex_real(m->p->w, x), &n);
    return number_nf(m->p, t.dtype, &n);
}
static bool opaque_nf(NfImport *m, Value v, Nf *form) {
    int k = input_number(m, v);
    const void *bytes;
    if (k >= 0) *form = nf_atom(m->p, element_atom(m, v, (uint32_t)k));
    else if (constant_get(m->p->w, v, NULL, &bytes)) *form = constant_nf(m, v);
    else return false;
    return true;
}
static Ex definition(NfImport *m, Value v, const Node *node) {
    Ex e = sig_define(m->p->w, node->sig, value_port(m->p->w, v));
    if (!e)
        prover_fail(m->p,
                    arena_format(m->p->arena, "operator %s has no definition", node->op->name));
    return e;
}
Nf import_value(NfImport *m, Value v) {
    if (!v || v >= m->room) prover_fail(m->p, "an input is missing");
    if (m->done[v]) return m->form[v];
    Nf form;
    if (!opaque_nf(m, v, &form)) {
        Node node = node_get(m->p->w, value_node(m->p->w, v));
        TreeScope s = scope_new(m, &node, v);
        Dom ctx = import_range(m, v);
        Ex e = definition(m, v, &node);
        const char *why = integers_at_risk(m, v, &node, e);
        if (why) prover_fail(m->p, why);
        form = simplify(m->p, ctx, tree(&s, ctx, e));
    }
    m->done[v] = true;
    return m->form[v] = form;
}

/* ---- what is read, and what is wanted */

static void add_part(Prover *p, Parts *s, Part x) {
    if (dom_false(p, x.dom)) return;
    if (s->n == READS_MAX) s->too_many = true;
    if (s->too_many) return;
    ARENA_GROW(p->arena, s->v, s->room, s->n + 1);
    s->v[s->n++] = x;
}
/* The part, its variables renamed, under more variables and conditions. */
static Part part_under(Prover *p, const Part *x, Map m, int n, const Symbol *var, Dom d) {
    Part y = part_open(p, x);
    Symbol *v = ARENA_NEW(p->arena, Symbol, y.nvar + n + 1);
    if (y.nvar) memcpy(v, y.var, sizeof *v * (size_t)y.nvar);
    if (n) memcpy(v + y.nvar, var, sizeof *v * (size_t)n);
    return (Part){y.nvar + n, v, dom_and(p, dom_subst(p, y.dom, m), d), nf_subst(p, y.nf, m)};
}
static void read_tree(TreeScope *s, Ex e, int n, const Symbol *var, Dom d, Parts *out);
/* What a sum or maximum reads, its variables from k on: var[0..n-1] are open; variables of few
   values are written out where the sum itself is. */
static void read_over(TreeScope *s, const ExNode *x, const int *count, int k, int n,
                      const Symbol *var, Dom d, Parts *out) {
    Prover *p = s->m->p;
    if (k == x->n) {
        read_tree(s, x->a, n, var, dom_and(p, d, condition(s, &x->cond)), out);
        return;
    }
    Symbol old = poly_is_symbol(p->w, x->dims[k]);
    for (int value = 0; value < count[k]; value++) {
        bind_symbol(s, old, poly_int(p->w, value));
        read_over(s, x, count, k + 1, n, var, d, out);
    }
    if (count[k]) return;
    Symbol *more = ARENA_NEW(p->arena, Symbol, n + 1);
    if (n) memcpy(more, var, sizeof *more * (size_t)n);
    d = dom_and(p, d, open_variable(s, old, &more[n]));
    read_over(s, x, count, k + 1, n + 1, more, d, out);
}
/* What a partial function wants of its arguments. */
static void want_args(TreeScope *s, const ExNode *x, int n, const Symbol *var, Dom d, Parts *out) {
    Prover *p = s->m->p;
    Cell cell[CELLS_MAX];
    Dom inside = dom_and(p, s->range, d);
    Nf of[2] = {tree(s, inside, x->a), 0}, found[WANTS_MAX];
    if (x->kind == EX_POW) of[1] = tree(s, inside, x->b);
    int m = cells_make(p, inside, 2, of, 0, NULL, cell);
    for (int k = 0; k < m; k++) {
        Dom here = dom_and(p, d, cell[k].known), ctx = dom_and(p, s->range, here);
        Nf a = cell_restrict(p, of[0], cell[k].known), b = cell_restrict(p, of[1], cell[k].known);
        int count = x->kind == EX_POW ? wants_of_power(p, ctx, a, b, found)
                                      : wants_of_function(p, ctx, (Function)x->word, a, found);
        for (int j = 0; j < count; j++) add_part(p, out, (Part){n, var, here, found[j]});
        s->m->whole_wants |= count && s->whole && x->word != FN_EXP;
    }
}
/* What is not chosen is not looked at; the condition is not a number that could be lost, so only
   its index checks and wants count. */
static void read_choice(TreeScope *s, const ExNode *x, int n, const Symbol *var, Dom d,
                        Parts *out) {
    Prover *p = s->m->p;
    Parts condition = {0};
    ChoiceSide side[SIDES_MAX];
    for (int k = data_sides(s, d, x, side); k--;)
        read_tree(s, side[k].yes ? x->a : x->b, n, var, dom_and(p, d, side[k].known), out);
    read_tree(s, x->c, n, var, d, &condition);
    out->too_many |= condition.too_many;
    for (int k = 0; k < condition.n; k++) {
        Ratio c;
        const NfTerm *t = &nf_body(p, condition.v[k].nf, 0, &c)->term;
        const AtomInfo *a = t->nfactor ? atom_info(p, t->factor[0].atom) : NULL;
        if (s->wants || (a && a->kind == AT_PAIR && a->word == WANT_PLACE))
            add_part(p, out, condition.v[k]);
    }
}
/* What stands at the place is looked at, and that the index lies on the axis is checked. */
static void read_taken(TreeScope *s, const ExNode *x, int n, const Symbol *var, Dom d, Parts *out) {
    Prover *p = s->m->p;
    Cell cell[CELLS_MAX];
    Nf index = tree(s, d, x->a);
    read_tree(s, x->a, n, var, d, out);
    int m = cells_make(p, d, 1, &index, 0, NULL, cell);
    Poly size = in_scope(s, symbol_def(p->w, poly_is_symbol(p->w, x->dims[0])).arg[0]);
    for (int k = 0; k < m; k++) {
        Poly e = bind_place(s, x, index, &cell[k]);
        Dom here = dom_and(p, d, cell[k].known);
        Nf check = nf_atom(
            p, atom_nested(p, AT_PAIR, WANT_PLACE, nf_polynomial(p, e), nf_polynomial(p, size)));
        add_part(p, out, (Part){n, var, here, check});
        read_tree(s, x->b, n, var, here, out);
    }
}
static void read_tree(TreeScope *s, Ex e, int n, const Symbol *var, Dom d, Parts *out) {
    Prover *p = s->m->p;
    const int before = out->n;
    ExNode x;
    if (!e) return;
    ex_get(p->w, e, &x);
    if (x.kind == EX_AT) {
        Poly to[RANK_MAX];
        Value v = s->node->in[x.word];
        const Parts *inner = s->wants ? import_wants(s->m, v) : import_reads(s->m, v);
        Map m = index_map(s, &x, to);
        out->too_many |= inner->too_many;
        for (int k = 0; k < inner->n; k++)
            add_part(p, out, part_under(p, &inner->v[k], m, n, var, d));
    } else if (x.kind == EX_SUM || x.kind == EX_MAXIMUM) {
        const int *none = ARENA_NEW(p->arena, int, x.n + 1);
        read_over(s, &x, p->unroll ? few_values(s, &x) : none, 0, n, var, d, out);
    } else if (x.kind == EX_WHERE) {
        read_choice(s, &x, n, var, d, out);
    } else if (x.kind == EX_TAKE) {
        read_taken(s, &x, n, var, d, out);
    } else if (x.kind == EX_IF) {
        Dom yes = condition(s, &x.cond), no[2 * COND_MAX];
        read_tree(s, x.a, n, var, dom_and(p, d, yes), out);
        for (int k = complement(p, yes, no); k--;)
            read_tree(s, x.b, n, var, dom_and(p, d, no[k]), out);
    } else {
        for (int k = 0; k < ex_children(x.kind); k++) read_tree(s, x.child[k], n, var, d, out);
        if (s->wants && wants_something(&x)) want_args(s, &x, n, var, d, out);
    }
    if (s->wants && hides_infinity(&x)) wants_hide(p, out, before);
}

/* Simplified, and equal ones once. */
static void tidy(NfImport *m, Value v, Parts *s) {
    Prover *p = m->p;
    Dom ctx = import_range(m, v);
    Parts out = {.too_many = s->too_many};
    for (int k = 0; k < s->n; k++) {
        Part x = part_simplify(p, ctx, s->v[k]);
        int j = 0;
        if (x.dom && prover_empty(p, ctx, x.dom)) continue;
        x = atom_info(p, atom_parts(p, AT_MAX, 1, &x))->part[0]; /* canonical names */
        while (j < out.n && !part_equal(&out.v[j], &x)) j++;
        if (j == out.n) add_part(p, &out, x);
    }
    *s = out;
}
static void look_at(NfImport *m, Value v, bool wants, Parts *out) {
    Node node = node_get(m->p->w, value_node(m->p->w, v));
    TreeScope scope = scope_new(m, &node, v);
    scope.wants = wants, scope.range = import_range(m, v);
    read_tree(&scope, definition(m, v, &node), 0, NULL, DOM_TRUE, out);
    tidy(m, v, out);
}
static bool is_constant(const NfImport *m, Value v) {
    return constant_get(m->p->w, v, NULL, &(const void *){NULL});
}
static const Parts no_parts = {0};
const Parts *import_reads(NfImport *m, Value v) {
    Nf form;
    if (!v || v >= m->room) return &no_parts;
    Parts *s = &m->reads[v];
    if (s->room) return s;
    if (input_number(m, v) >= 0 && opaque_nf(m, v, &form)) add_part(m->p, s, (Part){.nf = form});
    else if (!is_constant(m, v)) look_at(m, v, false, s);
    return s;
}
const Parts *import_wants(NfImport *m, Value v) {
    if (!v || v >= m->room || input_number(m, v) >= 0 || is_constant(m, v)) return &no_parts;
    Parts *s = &m->wants[v];
    if (!s->done) look_at(m, v, true, s), s->done = true;
    return s;
}
