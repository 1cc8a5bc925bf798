/* simplify.c -- normalizing one term: equations are solved for its variables, variables that a
   single value is left for go, variables that no atom has become their count, pairs that occur as
   a*B + b only become one, digits of variables become variables. Every step is a change of
   variables that is one to one on the term's domain. */
#include "verifier/explain.h"
#include "verifier/identities.h"
#include <string.h>

enum { STEPS_MAX = 200 };

typedef struct Terms { /* a growing list */
    int n, room;
    NfTerm *v;
} Terms;

static void push_term(Prover *p, Terms *s, NfTerm t) {
    ARENA_GROW(p->arena, s->v, s->room, s->n + 1);
    s->v[s->n++] = t;
}
static void drop_variable(Prover *p, NfTerm *t, Symbol x) {
    Symbol *v = ARENA_NEW(p->arena, Symbol, t->nvar + 1);
    int n = 0;
    for (int k = 0; k < t->nvar; k++)
        if (t->var[k] != x) v[n++] = t->var[k];
    t->var = v;
    t->nvar = n;
}
static void add_variable(Prover *p, NfTerm *t, Symbol x) {
    Symbol *v = ARENA_NEW(p->arena, Symbol, t->nvar + 1);
    memcpy(v, t->var, sizeof *v * (size_t)t->nvar);
    v[t->nvar] = x;
    t->var = v;
    t->nvar++;
}
static void eliminate_variable(Prover *p, NfTerm *t, Symbol x, Poly value) {
    *t = term_subst(p, *t, (Map){1, &x, &value});
    drop_variable(p, t, x);
}

/* ---- equations */

/* The cost of solving e for x: a solution with a negative product is not what indices look
   like. */
static int awkward(Prover *p, Poly value) {
    int bad = 0;
    PolyScan s = poly_scan(p->w, value);
    for (Monomial m; poly_next(&s, &m);) bad += m.degree > 1 && m.coefficient < 0;
    return bad;
}
static bool solve_one(Prover *p, Dom ctx, NfTerm *t, Lit l) {
    Poly part[2], value, best_value = 0;
    Symbol best = 0;
    if (!lit_mentions(p, l, t->nvar, t->var)) return false;
    Dom rest = dom_without(p, t->dom, l);
    int n = equation_parts(p, dom_and(p, ctx, rest), l.p, part);
    if (n) {
        for (int k = 0; k < n; k++) rest = dom_with(p, rest, (Lit){part[k], true});
        t->dom = rest;
        explain_equation(p, l.p, n, part);
        return true;
    }
    for (int k = 0; k < t->nvar; k++)
        if (solve_for(p, l.p, t->var[k], &value) &&
            (!best || awkward(p, value) < awkward(p, best_value))) {
            best = t->var[k];
            best_value = value;
        }
    if (!best) return false;
    t->dom = rest;
    explain_value(p, "an equation gives", best, best_value, DOM_TRUE);
    eliminate_variable(p, t, best, best_value);
    return true;
}
static bool solve_equations(Prover *p, Dom ctx, NfTerm *t) {
    Lits l = dom_lits(p, t->dom);
    for (int k = 0; k < l.n; k++)
        if (l.v[k].eq && solve_one(p, ctx, t, l.v[k])) return true;
    return false;
}
/* x <= b and b <= x. */
static bool pinned(Prover *p, Dom d, Symbol x, Poly *value) {
    Lits l = dom_lits(p, d);
    Poly low, high;
    for (int k = 0; k < l.n; k++)
        for (int j = 0; bound_of(p, l.v[k], x, &low) == 1 && j < l.n; j++)
            if (bound_of(p, l.v[j], x, &high) == -1 && low == high) {
                *value = low;
                return true;
            }
    return false;
}
static bool drop_pinned(Prover *p, NfTerm *t) {
    Poly value;
    for (int k = 0; k < t->nvar; k++)
        if (pinned(p, t->dom, t->var[k], &value)) {
            explain_value(p, "one value is left", t->var[k], value, DOM_TRUE);
            eliminate_variable(p, t, t->var[k], value);
            return true;
        }
    return false;
}

/* ---- counting and fusing */

/* The literals that mention x are exactly one lower and one upper bound. */
static bool range_of(Prover *p, Dom d, Symbol x, Poly *low, Poly *high, Dom *rest) {
    Lits l = dom_lits(p, d);
    int nlow = 0, nhigh = 0;
    *rest = d;
    for (int k = 0; k < l.n; k++) {
        if (!lit_mentions(p, l.v[k], 1, &x)) continue;
        Poly b;
        int side = bound_of(p, l.v[k], x, &b);
        if (!side) return false;
        *(side > 0 ? low : high) = b;
        nlow += side > 0;
        nhigh += side < 0;
        *rest = dom_without(p, *rest, l.v[k]);
    }
    return nlow == 1 && nhigh == 1;
}
static void simplify_term(Prover *, Dom ctx, NfTerm, Terms *out);

static bool count_unused(Prover *p, Dom ctx, NfTerm t, Terms *out) {
    const Symbol *v;
    for (int k = 0; k < t.nvar; k++) {
        Symbol x = t.var[k];
        Poly low, high;
        Dom rest;
        if (term_mentions_any(p, t, 1, &x) || !range_of(p, t.dom, x, &low, &high, &rest)) continue;
        Poly n = poly_add(p->w, poly_sub(p->w, high, low), poly_int(p->w, 1));
        if (poly_variables(p, n, &v) ||
            !prover_entails(p, dom_and(p, ctx, rest), dom_make(p, 1, &(Lit){n, false})))
            continue;
        t.dom = rest;
        drop_variable(p, &t, x);
        explain_count(p, x, n);
        Nf count = nf_polynomial(p, n);
        int terms = nf_size(p, count);
        for (int j = 0; j < terms; j++)
            simplify_term(p, ctx, term_times(p, t, nf_term(p, count, j)), out);
        return true;
    }
    return false;
}
/* 0 <= x < n for an n without variables, as two of the literals. */
static bool range_from_zero(Prover *p, Dom d, Symbol x, Poly *n, Lit lit[2]) {
    Lits l = dom_lits(p, d);
    const Symbol *v;
    Poly b;
    int found = 0;
    for (int k = 0; k < l.n; k++) {
        int side = bound_of(p, l.v[k], x, &b);
        if (side == 1 && !b) {
            lit[0] = l.v[k];
            found |= 1;
        } else if (side == -1 && !poly_variables(p, b, &v)) {
            lit[1] = l.v[k];
            *n = poly_add(p->w, b, poly_int(p->w, 1));
            found |= 2;
        }
    }
    return found == 3;
}
static Lit at_least_zero(Prover *p, Symbol x) { return (Lit){poly_symbol(p->w, x), false}; }
static Lit less_than(Prover *p, Symbol x, Poly n) {
    return (Lit){poly_sub(p->w, poly_sub(p->w, n, poly_int(p->w, 1)), poly_symbol(p->w, x)), false};
}
static bool never_negative(Prover *p, Dom ctx, Poly n) {
    return prover_entails(p, ctx, dom_make(p, 1, &(Lit){n, false}));
}
/* Two counts below 0 would have a product above it. */
static bool fuse_pair(Prover *p, Dom ctx, NfTerm *t, Symbol a, Symbol b) {
    Poly na, nb;
    Lit la[2], lb[2];
    if (!range_from_zero(p, t->dom, a, &na, la) || !range_from_zero(p, t->dom, b, &nb, lb))
        return false;
    Symbol k = variable_new(p);
    Poly value = poly_sub(p->w, poly_symbol(p->w, k), poly_mul(p->w, poly_symbol(p->w, a), nb));
    NfTerm r = *t;
    for (int j = 0; j < 2; j++) r.dom = dom_without(p, dom_without(p, r.dom, la[j]), lb[j]);
    r = term_subst(p, r, (Map){1, &b, &value});
    if (term_mentions_any(p, r, 1, &a) || dom_mentions(p, r.dom, a) ||
        !term_mentions_any(p, r, 1, &k) || !never_negative(p, ctx, na))
        return false;
    explain_value(p, "two become one", b, value, DOM_TRUE);
    drop_variable(p, &r, a);
    drop_variable(p, &r, b);
    add_variable(p, &r, k);
    r.dom = dom_with(p, dom_with(p, r.dom, at_least_zero(p, k)),
                     less_than(p, k, poly_mul(p->w, na, nb)));
    *t = r;
    return true;
}
static bool fuse(Prover *p, Dom ctx, NfTerm *t) {
    for (int a = 0; a < t->nvar; a++)
        for (int b = 0; b < t->nvar; b++)
            if (a != b && fuse_pair(p, ctx, t, t->var[a], t->var[b])) return true;
    return false;
}

/* ---- floors, minima and digits of variables */

/* e = q*b + r, by the leading monomial of b. */
static void divide(Prover *p, Poly e, Poly b, Poly *q, Poly *r) {
    Monomial lead, m;
    PolyScan s = poly_scan(p->w, b);
    *q = *r = 0;
    poly_next(&s, &lead);
    Poly top = poly_from(p->w, 1, &lead), x;
    for (int steps = 0; e && steps < 100; steps++) {
        s = poly_scan(p->w, e);
        poly_next(&s, &m);
        Poly one = poly_from(p->w, 1, &m);
        if (poly_divide(p->w, one, top, &x)) {
            *q = poly_add(p->w, *q, x);
            e = poly_sub(p->w, e, poly_mul(p->w, x, b));
        } else {
            *r = poly_add(p->w, *r, one);
            e = poly_sub(p->w, e, one);
        }
    }
    *r = poly_add(p->w, *r, e);
}
static Dom within_range(Prover *p, Poly x, Poly n) {
    return dom_make(p, 2, (Lit[]){{x, false}, lit_ge(p, poly_sub(p->w, n, poly_int(p->w, 1)), x)});
}
/* place(b*i + r, b*n) = b*place(i, n) + r for 0 <= r < b: of a row of b elements. (A place is i
   modulo n; where i is not an index, nothing is defined.) */
static bool place_in_row(Prover *p, Dom ctx, SymbolDef d, Poly b, Poly *value, Dom *given) {
    Poly high, low, rows;
    if (!b || b == d.arg[1] || b == poly_int(p->w, 1) || !poly_divide(p->w, d.arg[1], b, &rows))
        return false;
    divide(p, d.arg[0], b, &high, &low);
    *given = within_range(p, low, b);
    if (!high || !prover_entails(p, ctx, *given)) return false;
    *value = poly_add(p->w, poly_mul(p->w, b, poly_place(p->w, high, rows)), low);
    return true;
}
static bool place_of_rows(Prover *p, Dom ctx, SymbolDef d, Poly *value, Dom *given) {
    PolyScan s = poly_scan(p->w, d.arg[1]);
    Monomial m, more;
    if (!poly_next(&s, &m) || !m.degree || poly_next(&s, &more)) return false;
    if (place_in_row(p, ctx, d, poly_int(p->w, m.coefficient), value, given)) return true;
    for (uint32_t k = 0; k < m.degree; k++)
        if (place_in_row(p, ctx, d, poly_symbol(p->w, m.symbol[k]), value, given)) return true;
    return false;
}
/* A place is its index, or that counted from the end, where one of them is a place. */
static bool place_value(Prover *p, Dom ctx, SymbolDef d, Poly *value, Dom *given) {
    const Poly from[] = {d.arg[0], poly_add(p->w, d.arg[0], d.arg[1])};
    for (int k = 0; k < 2; k++) {
        *value = from[k];
        *given = within_range(p, from[k], d.arg[1]);
        if (prover_entails(p, ctx, *given)) return true;
    }
    return place_of_rows(p, ctx, d, value, given);
}
/* What the symbol is under ctx, because `given` holds there; false: not seen. `radix` and `low`:
   what would have to be in 0..radix-1 for that. */
static bool symbol_value(Prover *p, Dom ctx, Symbol x, Poly *value, Poly *radix, Poly *low,
                         Dom *given) {
    SymbolDef d = symbol_def(p->w, x);
    Poly high;
    *radix = *low = 0;
    if (d.kind == SYM_READ) return false;
    if (d.kind == SYM_PLACE) return place_value(p, ctx, d, value, given);
    if (d.kind == SYM_MIN) {
        for (int k = 0; k < 2; k++) {
            *value = d.arg[k];
            *given = dom_make(p, 1, (Lit[]){lit_ge(p, d.arg[1 - k], d.arg[k])});
            if (prover_entails(p, ctx, *given)) return true;
        }
        return false;
    }
    *radix = d.kind == SYM_FLOOR ? d.arg[1] : d.arg[d.narg - 1];
    if (!*radix) return false;
    divide(p, d.arg[0], *radix, &high, low);
    *given = within_range(p, *low, *radix);
    if (!prover_entails(p, ctx, *given)) return false;
    if (d.kind == SYM_FLOOR) *value = high;
    else if (d.word == d.narg - 2) *value = *low;
    else *value = poly_digit(p->w, high, d.arg + 1, (int)d.narg - 2, (int)d.word);
    return true;
}
/* x := high * radix + low, low < radix, when x runs over a multiple of radix. */
static bool split_variable(Prover *p, Dom ctx, NfTerm *t, Symbol x, Poly radix) {
    Poly n, count;
    Lit lit[2];
    if (!range_from_zero(p, t->dom, x, &n, lit) || n == radix ||
        !poly_divide(p->w, n, radix, &count) || !never_negative(p, ctx, radix))
        return false;
    Symbol high = variable_new(p), low = variable_new(p);
    Poly value =
        poly_add(p->w, poly_mul(p->w, poly_symbol(p->w, high), radix), poly_symbol(p->w, low));
    explain_value(p, "digits", x, value, DOM_TRUE);
    t->dom = dom_without(p, dom_without(p, t->dom, lit[0]), lit[1]);
    eliminate_variable(p, t, x, value);
    add_variable(p, t, high);
    add_variable(p, t, low);
    Lit range[4] = {at_least_zero(p, high), less_than(p, high, count), at_least_zero(p, low),
                    less_than(p, low, radix)};
    t->dom = dom_and(p, t->dom, dom_make(p, 4, range));
    return true;
}
static void wish_split(Prover *p, Dom ctx, Symbol x, Poly radix) {
    Poly n, count;
    Lit lit[2];
    if (p->split.variable || !among(x, p->nindex, p->index) || !range_from_zero(p, ctx, x, &n, lit))
        return;
    if (n != radix && poly_divide(p->w, n, radix, &count) && never_negative(p, ctx, radix))
        p->split = (Split){x, radix, count};
}
static bool is_derived(Prover *p, Symbol s) { return symbol_def(p->w, s).kind != SYM_BOUND; }

/* The symbols of the term that are defined by others: floors, minima, digits, places. */
static int derived_symbols(Prover *p, const NfTerm *t, Symbol *out, int room) {
    int n = 0;
    Lits l = dom_lits(p, t->dom);
    const Symbol *v;
    for (int k = 0; k < l.n; k++)
        for (int j = poly_variables(p, l.v[k].p, &v); j-- > 0 && n < room;)
            if (is_derived(p, v[j]) && !among(v[j], n, out)) out[n++] = v[j];
    for (int k = 0; k < t->nfactor; k++) {
        const AtomInfo *a = atom_info(p, t->factor[k].atom);
        for (int j = 0; j < a->nfree && n < room; j++)
            if (is_derived(p, a->free[j]) && !among(a->free[j], n, out)) out[n++] = a->free[j];
    }
    return n;
}
/* A digit that nothing simplifies, by quotients: floor(e/b) - n*floor(e/(n*b)), b the product of
   the radices after it. Numbers that put the digits of one number together again then are that
   number. */
static bool digit_as_floors(Prover *p, Dom ctx, Symbol x, Poly *value, Dom *given) {
    SymbolDef d = symbol_def(p->w, x);
    Poly one = poly_int(p->w, 1), all = one, unit = one;
    Dom want = DOM_TRUE;
    if (d.kind != SYM_DIGIT) return false;
    for (uint32_t k = 1; k < d.narg; k++) {
        all = poly_mul(p->w, all, d.arg[k]);
        if (k > d.word + 1) unit = poly_mul(p->w, unit, d.arg[k]);
        want = dom_with(p, want, lit_ge(p, d.arg[k], one));
    }
    *given = dom_and(p, want, within_range(p, d.arg[0], all));
    if (!prover_entails(p, ctx, *given)) return false;
    Poly n = d.arg[1 + d.word];
    *value = poly_floor(p->w, d.arg[0], unit);
    if (d.word > 0)
        *value = poly_sub(p->w, *value,
                          poly_mul(p->w, n, poly_floor(p->w, d.arg[0], poly_mul(p->w, n, unit))));
    return true;
}
/* The symbol is the value where `given` holds, and that holds on the term's domain. It has to stay
   in the domain: a literal that it follows from may be the one that mentions the symbol. */
static void replace_symbol(Prover *p, Dom ctx, NfTerm *t, Symbol x, Poly value, Dom given) {
    explain_value(p, "by its definition", x, value, given);
    if (!prover_entails(p, ctx, given)) t->dom = dom_and(p, t->dom, given);
    *t = term_subst(p, *t, (Map){1, &x, &value});
}
static bool resolve_digits(Prover *p, Dom ctx, NfTerm *t) {
    Dom given;
    enum { DERIVED_MAX = 32 }; /* the others are left as they are */
    Symbol s[DERIVED_MAX];
    int n = derived_symbols(p, t, s, DERIVED_MAX);
    for (int k = 0; k < n; k++) {
        Poly value, radix, low;
        const Symbol *v;
        if (symbol_value(p, dom_and(p, ctx, t->dom), s[k], &value, &radix, &low, &given)) {
            replace_symbol(p, ctx, t, s[k], value, given);
            return true;
        }
        int m = radix ? poly_variables(p, low, &v) : 0;
        for (int j = 0; j < m; j++) {
            if (among(v[j], t->nvar, t->var) && split_variable(p, ctx, t, v[j], radix)) return true;
            wish_split(p, ctx, v[j], radix);
        }
    }
    for (int k = 0; k < n && !p->split.variable; k++) {
        Poly value;
        if (!digit_as_floors(p, dom_and(p, ctx, t->dom), s[k], &value, &given)) continue;
        replace_symbol(p, ctx, t, s[k], value, given);
        return true;
    }
    return false;
}

/* ---- atoms inside */

static Nf simplify_atom(Prover *p, Dom ctx, Factor f);

static Nf rebuilt_parts(Prover *p, Dom ctx, const AtomInfo *a) {
    Part *v = ARENA_NEW(p->arena, Part, a->npart + 1);
    int n = 0;
    for (int k = 0; k < a->npart; k++) {
        Part x = part_simplify(p, ctx, part_open(p, &a->part[k]));
        if (!dom_false(p, x.dom) && !(x.dom && prover_empty(p, ctx, x.dom))) v[n++] = x;
    }
    if (a->kind == AT_MAX) return apply_max(p, ctx, n, v);
    return n ? apply_sum(p, ctx, v[0]) : 0;
}
static Nf simplify_atom(Prover *p, Dom ctx, Factor f) {
    const AtomInfo *a = atom_info(p, f.atom);
    Nf r = 0;
    if (a->kind == AT_FN) r = apply_function(p, ctx, (Function)a->word, simplify(p, ctx, a->a));
    else if (a->kind == AT_BASE) return apply_power(p, ctx, simplify(p, ctx, a->a), f.power);
    else if (a->kind == AT_PAIR)
        r = apply_pair(p, ctx, a->word, simplify(p, ctx, a->a), simplify(p, ctx, a->b));
    else if (a->kind == AT_VALUE) r = nf_polynomial(p, a->index[0]);
    else if (a->kind == AT_MAX || a->kind == AT_SUM) r = rebuilt_parts(p, ctx, a);
    else r = nf_atom(p, f.atom);
    return r == nf_atom(p, f.atom)
               ? nf_of(p, term_factor(p, (NfTerm){.c = ratio(1, 1)}, f.atom, f.power))
               : apply_power(p, ctx, r, f.power);
}
static bool has_nested(Prover *p, const NfTerm *t) {
    for (int k = 0; k < t->nfactor; k++) {
        AtomKind kind = atom_info(p, t->factor[k].atom)->kind;
        if (kind != AT_INPUT && kind != AT_PARAM && kind != AT_SIZE && kind != AT_REAL) return true;
    }
    return false;
}
/* n * (1/n) = 1 where n >= 1 is known. */
static void cancel_sizes(Prover *p, Dom ctx, NfTerm *t) {
    for (int k = 0; k + 1 < t->nfactor; k++) {
        Factor f = t->factor[k], g = t->factor[k + 1];
        const AtomInfo *a = atom_info(p, f.atom);
        if (f.atom != g.atom || a->kind != AT_SIZE || (f.power.p < 0) == (g.power.p < 0)) continue;
        Lit l = {poly_sub(p->w, poly_symbol(p->w, a->word), poly_int(p->w, 1)), false};
        if (!prover_entails(p, dom_and(p, ctx, t->dom), dom_make(p, 1, &l))) continue;
        Factor *v = ARENA_NEW(p->arena, Factor, t->nfactor);
        int n = 0;
        for (int j = 0; j < t->nfactor; j++)
            if (j != k && j != k + 1) v[n++] = t->factor[j];
        t->factor = v;
        t->nfactor = n;
        Ratio sum = ratio_plus(p, f.power, g.power);
        if (sum.p) *t = term_factor(p, *t, f.atom, sum);
        k = -1;
    }
}
static void simplify_all(Prover *p, Dom ctx, Nf nf, Terms *out) {
    int n = nf_size(p, nf);
    for (int k = 0; k < n; k++) simplify_term(p, ctx, nf_term(p, nf, k), out);
}
static void emit_term(Prover *p, Dom ctx, NfTerm t, Terms *out) {
    Nf reduced;
    if (t.dom && prover_empty(p, ctx, t.dom)) return;
    cancel_sizes(p, ctx, &t);
    if (!has_nested(p, &t)) {
        push_term(p, out, t);
        return;
    }
    Dom here = dom_and(p, ctx, t.dom);
    NfTerm bare = t;
    bare.nfactor = 0;
    Nf product = nf_number(p, ratio(1, 1));
    p->depth++;
    for (int k = 0; k < t.nfactor; k++)
        product = nf_mul(p, product, simplify_atom(p, here, t.factor[k]));
    p->depth--;
    int n = nf_size(p, product);
    for (int k = 0; k < n; k++) {
        NfTerm x = nf_term(p, product, k), y = term_times(p, bare, x);
        cancel_sizes(p, ctx, &y);
        if (dom_false(p, y.dom) || (x.dom && prover_empty(p, ctx, y.dom))) continue;
        if (reduce_term(p, ctx, &y, &reduced)) simplify_all(p, ctx, reduced, out);
        else if (!x.nvar && !x.dom) push_term(p, out, y);
        else simplify_term(p, ctx, y, out);
    }
}
static void simplify_term(Prover *p, Dom ctx, NfTerm t, Terms *out) {
    if (p->depth > 90) prover_fail(p, "nested too deeply");
    for (int step = 0; step < STEPS_MAX; step++) {
        if (!t.c.p || dom_false(p, t.dom)) return;
        if (t.nvar && (solve_equations(p, ctx, &t) || drop_pinned(p, &t))) continue;
        if (resolve_digits(p, ctx, &t)) continue;
        if (t.nvar && count_unused(p, ctx, t, out)) return;
        if (t.nvar > 1 && fuse(p, ctx, &t)) continue;
        p->depth++;
        emit_term(p, ctx, t, out);
        p->depth--;
        return;
    }
    prover_fail(p, "simplification does not terminate");
}

/* ---- forms */

static void drop_entailed(Prover *p, Dom ctx, NfTerm *t) {
    Lits l = dom_lits(p, t->dom);
    for (int k = 0; k < l.n; k++)
        if (!lit_mentions(p, l.v[k], t->nvar, t->var) &&
            prover_entails(p, ctx, dom_make(p, 1, &l.v[k])))
            t->dom = dom_without(p, t->dom, l.v[k]);
}
Nf simplify(Prover *p, Dom ctx, Nf nf) {
    Terms out = {0};
    int n = nf_size(p, nf);
    p->depth++;
    for (int k = 0; k < n; k++) simplify_term(p, ctx, nf_term_at(p, nf, k), &out);
    for (int k = 0; k < out.n; k++) drop_entailed(p, ctx, &out.v[k]);
    p->depth--;
    return nf_from(p, out.n, out.v);
}

/* ---- parts of maxima and sums */

static bool part_step(Prover *p, Dom ctx, NfTerm *t) {
    return solve_equations(p, ctx, t) || drop_pinned(p, t) || resolve_digits(p, ctx, t);
}

/* The part is treated as a term with one atom that holds its form. */
Part part_simplify(Prover *p, Dom ctx, Part x) {
    NfTerm t = {ratio(1, 1), x.dom, x.nvar, 0, x.var, NULL};
    if (x.nf) t = term_factor(p, t, atom_nested(p, AT_PAIR, UINT32_MAX, x.nf, 0), ratio(1, 1));
    for (int step = 0; step < STEPS_MAX && !dom_false(p, t.dom) && part_step(p, ctx, &t); step++)
        continue;
    drop_entailed(p, ctx, &t);
    Nf inner = t.nfactor ? atom_info(p, t.factor[0].atom)->a : 0;
    return (Part){t.nvar, t.var, t.dom,
                  dom_false(p, t.dom) ? 0 : simplify(p, dom_and(p, ctx, t.dom), inner)};
}
