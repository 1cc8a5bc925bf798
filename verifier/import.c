/* import.c -- turns the definitions of operators into normal forms, one node at a time. The form of
   a value, over canonical names of its indices, is computed and simplified once; wherever the value
   is read, this form is used with its indices substituted. */
#include "verifier/bounds.h"
#include "verifier/exact.h"
#include "verifier/rule_numbers.h"
#include "verifier/wrap.h"
#include "ops/core/element.h"
#include <math.h>
#include <string.h>

/* CONSTANT_WORD is added to the number of a constant, above those of inputs. A maximum over at most
   FEW_MAX values is written out where short sums are. */
enum { CONSTANT_WORD = 1 << 20, FEW_MAX = 4 };

void import_init(NfImport *m) {
    for (int k = 0; k < RANK_MAX; k++) m->index[k] = variable_new(m->p);
    m->room = value_last(m->p->w) + 1;
    m->form = ARENA_NEW(m->p->arena, Nf, m->room);
    m->done = ARENA_NEW(m->p->arena, bool, m->room);
    m->reads = ARENA_NEW(m->p->arena, Parts, m->room);
    m->wants = ARENA_NEW(m->p->arena, Parts, m->room);
    m->stays_in_type = ARENA_NEW(m->p->arena, uint8_t, m->room);
    m->bounds = ARENA_NEW(m->p->arena, Bounds, m->room);
    m->float_signs = ARENA_NEW(m->p->arena, uint8_t, m->room);
}
Dom import_range(NfImport *m, Value v) {
    Dims d = scope_sizes(m, v);
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

/* ---- trees */

/* A number that an element type, or float32 for an attribute, must hold. Which of the two holds it
   is not known here, so a number counts as rounded if either rounds it. */
static Nf number_nf(Prover *p, DType t, const ExNode *x) {
    if (x->kind != EX_NUM) return nf_atom(p, atom_real(p, x->real));
    Ratio v = ratio(x->p, x->q);
    const bool held = type_holds(t, v.p, v.q) && (t != DT_DOUBLE || type_holds(DT_FLOAT, v.p, v.q)),
               rounded = p->any_numbers && dtype_class(t) == 'F' && !held;
    return rounded ? nf_atom(p, atom_real(p, (double)x->p / (double)x->q)) : nf_number(p, v);
}
/* The element that an EX_AT reads. */
static Nf element_nf(Scope *s, const ExNode *x) {
    Poly to[RANK_MAX];
    Value v = s->node->in[x->word];
    Nf form = import_value(s->m, v);
    return nf_subst(s->m->p, form, scope_index(s, x, to));
}
static bool is_recip(Scope *s, Ex e, Ex *of) {
    ExNode x;
    ex_get(s->m->p->w, e, &x);
    *of = x.a;
    return x.kind == EX_FN && x.word == FN_RECIP;
}
/* Whether the product of two numbers is a number that floats of this type give, too. 0 times a
   negative number is not: it is -0. */
static bool floats_multiply(Prover *p, DType t, Ratio a, Ratio b) {
    if (a.q != 1 || b.q != 1 || (!a.p && b.p < 0) || (!b.p && a.p < 0)) return false;
    const Ratio ab = ratio_times(p, a, b);
    return type_holds(t, a.p, 1) && type_holds(t, b.p, 1) && type_holds(t, ab.p, 1);
}
/* A float operation in an exact prover. x*1 and products of numbers that the type represents are
   exact and are computed (x + 0 is not: -0 + 0 is 0); everything else stays an uninterpreted
   pair. */
static Nf kept_pair(Scope *s, Dom ctx, const ExNode *x) {
    Prover *p = s->m->p;
    const uint32_t own = s->node->op->flags & (OP_SELECTS | OP_DECIDES) ? PAIR_SELECTS : 0;
    Ratio a, b;
    Ex divisor;
    if (x->kind == EX_MUL && is_recip(s, x->b, &divisor)) {
        Nf q = import_tree(s, ctx, divisor);
        Nf top = import_tree(s, ctx, x->a);
        return nf_constant(p, q, &b) && ratio_is(b, 1)
                   ? top
                   : apply_pair(p, ctx, own + PAIR_DIVIDE, top, q);
    }
    Nf l = import_tree(s, ctx, x->a), r = import_tree(s, ctx, x->b);
    bool cl = nf_constant(p, l, &a), cr = nf_constant(p, r, &b);
    if (x->kind == EX_MUL && cl && ratio_is(a, 1)) return r;
    if (x->kind == EX_MUL && cr && ratio_is(b, 1)) return l;
    if (x->kind == EX_MUL && cl && cr && floats_multiply(p, s->dtype, a, b))
        return nf_number(p, ratio_times(p, a, b));
    return apply_pair(p, ctx, own + x->kind, l, r);
}
/* The form of an expression in integers that floats represent: its arithmetic is exact. */
static Nf integer_nf(Scope *s, Dom ctx, Ex e) {
    const bool before = s->whole;
    s->whole = true;
    const Nf nf = import_tree(s, ctx, e);
    s->whole = before;
    return nf;
}
static Nf exact_pair(Scope *s, Dom ctx, Ex e) {
    ExNode x;
    ex_get(s->m->p->w, e, &x);
    return exact_is_integer(s, e) ? integer_nf(s, ctx, e) : kept_pair(s, ctx, &x);
}
static Nf power_nf(Scope *s, Dom ctx, const ExNode *x) {
    Prover *p = s->m->p;
    Ratio c;
    Nf a = import_tree(s, ctx, x->a), b = import_tree(s, ctx, x->b);
    return nf_constant(p, b, &c) ? apply_power(p, ctx, a, c) : apply_pair(p, ctx, EX_POW, a, b);
}
static Nf choice_nf(Scope *s, Dom ctx, const ExNode *x) {
    Prover *p = s->m->p;
    Dom yes = scope_condition(s, &x->cond), no[2 * COND_MAX];
    Nf sum = 0;
    if (!dom_false(p, yes)) sum = nf_guard(p, import_tree(s, dom_and(p, ctx, yes), x->a), yes);
    for (int k = dom_complement(p, yes, no); k--;)
        if (!dom_false(p, no[k]))
            sum = nf_add(p, sum, nf_guard(p, import_tree(s, dom_and(p, ctx, no[k]), x->b), no[k]));
    return sum;
}
/* The element type of an atom that is an element of an input or of a constant. */
static DType element_type(Prover *p, const AtomInfo *a) {
    if (a->word >= CONSTANT_WORD) return value_type(p->w, a->word - CONSTANT_WORD)->dtype;
    return a->word < (uint32_t)p->ninput ? p->type[a->word] : DT_NONE;
}
static bool whole_element(Prover *p, const AtomInfo *a) {
    const DType t = a->kind == AT_INPUT ? element_type(p, a) : DT_NONE;
    return t == DT_BOOL || dtype_is_integer(t);
}
/* The polynomial of an atom in an index or condition: a size, an index, or an element of an input
   that is an integer or, as 0 or 1, a truth value. Conditions on elements are solved in integers,
   so an element that is a float has none. */
static bool data_atom(Prover *p, const AtomInfo *a, Poly *out) {
    const bool whole = whole_element(p, a);
    if (a->kind == AT_SIZE) *out = poly_symbol(p->w, a->word);
    if (a->kind == AT_VALUE) *out = a->index[0];
    if (whole) *out = poly_read(p->w, a->word, a->index, a->nindex);
    if (whole && element_type(p, a) == DT_BOOL) *out = poly_place(p->w, *out, poly_int(p->w, 2));
    return a->kind == AT_SIZE || a->kind == AT_VALUE || whole;
}
static Poly data_polynomial(Prover *p, Nf nf) {
    Poly x;
    if (!nf_as_polynomial(p, nf, data_atom, &x))
        prover_fail(p, "an index or a condition is not a polynomial in elements of the inputs");
    return x;
}
int import_sides(Scope *s, Dom ctx, const ExNode *x, ChoiceSide out[SIDES_MAX]) {
    Prover *p = s->m->p;
    Cell cell[CELLS_MAX];
    Nf c = import_tree(s, ctx, x->c);
    int n = cells_make(p, ctx, 1, &c, 0, NULL, cell), count = 0;
    for (int k = 0; k < n; k++) {
        Lit side[3] = {{data_polynomial(p, cell_restrict(p, c, cell[k].known)), true}};
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
static Nf choice_by_data_nf(Scope *s, Dom ctx, const ExNode *x) {
    Prover *p = s->m->p;
    ChoiceSide side[SIDES_MAX];
    Nf sum = 0;
    for (int k = import_sides(s, ctx, x, side); k--;)
        sum = nf_add(
            p, sum,
            nf_guard(p, import_tree(s, dom_and(p, ctx, side[k].known), side[k].yes ? x->a : x->b),
                     side[k].guard));
    return sum;
}
Poly import_place(Scope *s, const ExNode *x, Nf index, const Cell *cell) {
    Prover *p = s->m->p;
    Symbol old = poly_is_symbol(p->w, x->dims[0]);
    Poly e = data_polynomial(p, cell_restrict(p, index, cell->known));
    scope_bind(s, old, poly_place(p->w, e, scope_count(s, old)));
    return e;
}
static Nf take_nf(Scope *s, Dom ctx, const ExNode *x) {
    Prover *p = s->m->p;
    Cell cell[CELLS_MAX];
    Nf index = import_tree(s, ctx, x->a), sum = 0;
    int n = cells_make(p, ctx, 1, &index, 0, NULL, cell);
    for (int k = 0; k < n; k++) {
        import_place(s, x, index, &cell[k]);
        sum = nf_add(
            p, sum,
            nf_guard(p, import_tree(s, dom_and(p, ctx, cell[k].known), x->b), cell[k].guard));
    }
    return sum;
}
/* Notes whether the part's domain has a point wherever ctx holds. Conditions on sizes alone may
   still follow where the result is used, so they are collected in p->inhabited_if. */
static void check_inhabited(Prover *p, Dom ctx, const Part *part) {
    Dom d = part->dom;
    bool plain = true;
    for (int k = 0; k < part->nvar && plain; k++) plain = project(p, &d, part->var[k], 0, NULL);
    Lits l = dom_lits(p, d);
    for (int k = 0; k < l.n && plain; k++) {
        const Symbol *v;
        if (prover_entails(p, ctx, dom_make(p, 1, &l.v[k]))) continue;
        plain = !poly_variables(p, l.v[k].p, &v);
        p->inhabited_if = dom_with(p, p->inhabited_if, l.v[k]);
    }
    p->maybe_empty |= !plain;
}
/* The sum of `body` over var where d holds. It is written out over the variables with a count,
   those of few values. */
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
/* Writes a part over one variable of few values out: a part for each value at which it has one. */
static int each_value(Prover *p, const Part *part, int count, Part each[]) {
    int n = 0;
    for (int value = 0; value < count; value++) {
        Poly to = poly_int(p->w, value);
        Map m = {1, part->var, &to};
        const Dom d = dom_subst(p, part->dom, m);
        if (!dom_false(p, d)) each[n++] = (Part){.dom = d, .nf = nf_subst(p, part->nf, m)};
    }
    return n;
}
static Nf maximum_nf(Prover *p, Dom ctx, const Part *part, const int *count) {
    Part each[FEW_MAX];
    const bool few = p->unroll && !p->exact && part->nvar == 1 && *count && *count <= FEW_MAX;
    const int n = few ? each_value(p, part, *count, each) : 0;
    if (n) return apply_max(p, ctx, n, each);
    const Part simple = part_simplify(p, ctx, *part);
    return apply_max(p, ctx, 1, &simple);
}
static Nf reduction_nf(Scope *s, Dom ctx, const ExNode *x) {
    Prover *p = s->m->p;
    Symbol *var = ARENA_NEW(p->arena, Symbol, x->n + 1);
    const int *count = scope_few_values(s, x);
    Dom d = scope_range(s, x, var);
    Part part = {x->n, var, d, import_tree(s, dom_and(p, ctx, d), x->a)};
    if (x->kind == EX_MAXIMUM) check_inhabited(p, ctx, &part);
    if (x->kind == EX_SUM && !p->exact)
        return p->unroll ? written_out(p, part.nf, x->n, var, count, d)
                         : nf_bind(p, part.nf, x->n, var, d);
    if (x->kind == EX_MAXIMUM) return maximum_nf(p, ctx, &part, count);
    part = part_simplify(p, ctx, part);
    return apply_sum(p, ctx, part); /* even of one element, since 0 + -0 is 0 */
}
static Nf least_nf(Prover *p, Dom ctx, Nf a, Nf b) {
    return nf_add(p, nf_add(p, a, b), nf_scale(p, apply_max2(p, ctx, a, b), ratio(-1, 1)));
}
static Nf saturated_nf(Scope *s, Dom ctx, const ExNode *x, const Saturation *of) {
    Prover *p = s->m->p;
    const Nf zero = integer_nf(s, ctx, of->zero), rounded = import_tree(s, ctx, of->rounded),
             sum = nf_add(p, rounded, zero), least = nf_number(p, ratio(of->limit[0], 1)),
             greatest = nf_number(p, ratio(of->limit[1], 1));
    s->m->any_maximum = true;
    return x->kind == EX_MAX2 ? apply_max2(p, ctx, least_nf(p, ctx, sum, greatest), least)
                              : least_nf(p, ctx, apply_max2(p, ctx, sum, least), greatest);
}
/* A sum, product, maximum or minimum of two. Forms are numbered as they are made, and their order
   follows these numbers. So b is imported first in a statement of its own: the order must not
   depend on the order in which a compiler evaluates arguments. */
static Nf of_two(Scope *s, Dom ctx, const ExNode *x) {
    Prover *p = s->m->p;
    const Nf b = import_tree(s, ctx, x->b), a = import_tree(s, ctx, x->a);
    s->m->any_maximum |= x->kind == EX_MAX2 || x->kind == EX_MIN2;
    switch (x->kind) {
    case EX_ADD: return nf_add(p, a, b);
    case EX_MUL: return nf_mul(p, a, b);
    case EX_MAX2: return apply_max2(p, ctx, a, b);
    default: return least_nf(p, ctx, a, b);
    }
}
Nf import_tree(Scope *s, Dom ctx, Ex e) {
    Prover *p = s->m->p;
    ExNode x;
    ex_get(p->w, e, &x);
    bool arithmetic = x.kind == EX_ADD || x.kind == EX_MUL || x.kind == EX_POW;
    Saturation saturation;
    if (p->exact && arithmetic && !s->whole) return exact_pair(s, ctx, e);
    if (p->exact && exact_is_saturated(s, &x, &saturation))
        return saturated_nf(s, ctx, &x, &saturation);
    switch (x.kind) {
    case EX_NUM:
    case EX_REAL: return number_nf(p, s->dtype, &x);
    case EX_PARAM: return nf_atom(p, atom_simple(p, AT_PARAM, x.word));
    case EX_SIZE: return nf_polynomial(p, scope_poly(s, x.size));
    case EX_AT: return element_nf(s, &x);
    case EX_ADD:
    case EX_MUL:
    case EX_MAX2:
    case EX_MIN2: return of_two(s, ctx, &x);
    case EX_POW: return power_nf(s, ctx, &x);
    case EX_FN: return apply_function(p, ctx, (Function)x.word, import_tree(s, ctx, x.a));
    case EX_IF: return choice_nf(s, ctx, &x);
    case EX_WHERE: return choice_by_data_nf(s, ctx, &x);
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
    Dims d = scope_sizes(m, v);
    Poly index[RANK_MAX];
    for (int k = 0; k < d.n; k++)
        index[k] = poly_is(p->w, d.v[k], 1) ? 0 : poly_symbol(p->w, m->index[k]);
    return atom_input(p, word, d.n, index);
}
/* Gives up if an element is infinite or NaN: proofs are about real numbers. Where both sides do the
   same operations, it does not matter what they give. */
static void elements_are_real(NfImport *m, const Type *t, const void *bytes) {
    int64_t n;
    if (m->p->exact || dtype_class(t->dtype) != 'F') return;
    if (!element_readable(t->dtype) || !poly_constant(m->p->w, type_count(m->p->w, t), &n))
        prover_fail(m->p, "a constant's elements cannot be read");
    for (int64_t k = 0; k < n; k++)
        if (!isfinite(element_real(t->dtype, bytes, k)))
            prover_fail(m->p, "a constant is infinite or NaN");
}
/* A constant that is one float32 or one integer is a number; any other constant is a tensor, like
   an input. */
static Nf constant_nf(NfImport *m, Value v) {
    Type t;
    const void *bytes;
    float x;
    constant_get(m->p->w, v, &t, &bytes);
    elements_are_real(m, &t, bytes);
    const bool whole = dtype_is_integer(t.dtype);
    if ((t.dtype != DT_FLOAT && !whole) || type_count(m->p->w, &t) != poly_int(m->p->w, 1))
        return nf_atom(m->p, element_atom(m, v, CONSTANT_WORD + v));
    if (whole) return nf_number(m->p, ratio(element_integer(t.dtype, bytes, 0), 1));
    memcpy(&x, bytes, sizeof x);
    ExNode n;
    ex_get(m->p->w, ex_real(m->p->w, x), &n);
    return number_nf(m->p, t.dtype, &n);
}
bool import_is_input(NfImport *m, Value v, Nf *form) {
    const int k = input_number(m, v);
    if (k >= 0) *form = nf_atom(m->p, element_atom(m, v, (uint32_t)k));
    return k >= 0;
}
/* The form of an input or a constant. */
static bool opaque_nf(NfImport *m, Value v, Nf *form) {
    if (import_is_input(m, v, form)) return true;
    if (!constant_get(m->p->w, v, NULL, &(const void *){NULL})) return false;
    *form = constant_nf(m, v);
    return true;
}
Ex import_definition(NfImport *m, Value v, const Node *node) {
    Ex e = sig_define(m->p->w, node->sig, value_port(m->p->w, v));
    if (!e) {
        const char *these = node->op->define ? " with these attributes and types" : "";
        prover_fail(m->p, arena_format(m->p->arena, "operator %s has no definition%s",
                                       node->op->name, these));
    }
    return e;
}
/* Returns whether the definition copies an integer element into a float type that may round it. */
static bool rounds_integer(NfImport *m, Value v, const Node *node, Ex definition) {
    ExNode x;
    int64_t limit[2];
    ex_get(m->p->w, definition, &x);
    const DType to = value_type(m->p->w, v)->dtype;
    if (x.kind != EX_AT || dtype_class(to) != 'F') return false;
    const DType from = value_type(m->p->w, node->in[x.word])->dtype;
    if (!dtype_is_integer(from) ||
        dtype_bits(from) - (dtype_class(from) == 'I') <= dtype_digits(to))
        return false;
    const int64_t held = (int64_t)1 << dtype_digits(to);
    return !bounds_of_value(m, node->in[x.word], limit) || limit[0] < -held || limit[1] > held;
}
Nf import_value(NfImport *m, Value v) {
    if (!v || v >= m->room) prover_fail(m->p, "an input is missing");
    if (m->done[v]) return m->form[v];
    Nf form;
    if (!opaque_nf(m, v, &form)) {
        Node node = node_get(m->p->w, value_node(m->p->w, v));
        Scope s = scope_new(m, &node, v);
        Dom ctx = import_range(m, v);
        Ex e = import_definition(m, v, &node);
        const char *why = integers_at_risk(m, v, &node, e);
        if (why) prover_fail(m->p, why);
        form = simplify(m->p, ctx, import_tree(&s, ctx, e));
        if (m->p->exact && rounds_integer(m, v, &node, e))
            form = apply_pair(m->p, ctx, PAIR_ROUNDED, form, nf_number(m->p, ratio(1, 1)));
    }
    m->done[v] = true;
    return m->form[v] = form;
}
