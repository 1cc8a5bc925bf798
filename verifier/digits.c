/* digits.c -- floors, minima, digits and places of variables in a term. Each is replaced by its
   value if that follows from the term's domain. A variable that runs over a multiple of a radix is
   split into two, its digits, if that is needed for such a value. */
#include "verifier/digits.h"
#include "verifier/explain.h"
#include "verifier/ranges.h"

/* Divides: e = q*b + r, by the leading monomial of b. */
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
/* 0 <= x < n */
static Dom within_range(Prover *p, Poly x, Poly n) {
    return dom_make(p, 2, (Lit[]){{x, false}, lit_ge(p, poly_sub(p->w, n, poly_int(p->w, 1)), x)});
}
/* Uses place(b*i + r, b*n) = b*place(i, n) + r for 0 <= r < b: element r of row i, in rows of b
   elements. (If i is outside -n..n-1 this is not so, but then nothing that is read there is
   defined.) */
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
/* Uses floor((b*i + r)/(b*n)) = floor(i/n) for 0 <= r < b and n >= 1: only the row counts, not the
   position in it. */
static bool floor_in_row(Prover *p, Dom ctx, SymbolDef d, Poly b, Poly *value, Dom *given) {
    Poly high, low, rows, one = poly_int(p->w, 1);
    if (!b || b == d.arg[1] || b == one || !poly_divide(p->w, d.arg[1], b, &rows)) return false;
    divide(p, d.arg[0], b, &high, &low);
    *given = dom_with(p, within_range(p, low, b), lit_ge(p, rows, one));
    if (!high || !prover_entails(p, ctx, *given)) return false;
    *value = poly_floor(p->w, high, rows);
    return true;
}
/* Tries place_in_row or floor_in_row with each factor b of the axis length or divisor, if that is a
   single monomial. */
static bool by_rows(Prover *p, Dom ctx, SymbolDef d, Poly *value, Dom *given) {
    bool (*const in_row)(Prover *, Dom, SymbolDef, Poly, Poly *, Dom *) =
        d.kind == SYM_PLACE ? place_in_row : floor_in_row;
    PolyScan s = poly_scan(p->w, d.arg[1]);
    Monomial m, more;
    if (!poly_next(&s, &m) || !m.degree || poly_next(&s, &more)) return false;
    if (in_row(p, ctx, d, poly_int(p->w, m.coefficient), value, given)) return true;
    for (uint32_t k = 0; k < m.degree; k++)
        if (in_row(p, ctx, d, poly_symbol(p->w, m.symbol[k]), value, given)) return true;
    return false;
}
/* A place is its index i or, for an index that counts from the end, i + n, if one of them is shown
   to be in 0..n-1. */
static bool place_value(Prover *p, Dom ctx, SymbolDef d, Poly *value, Dom *given) {
    const Poly from[] = {d.arg[0], poly_add(p->w, d.arg[0], d.arg[1])};
    for (int k = 0; k < 2; k++) {
        *value = from[k];
        *given = within_range(p, from[k], d.arg[1]);
        if (prover_entails(p, ctx, *given)) return true;
    }
    return by_rows(p, ctx, d, value, given);
}
/* Sets *value to what the symbol x is under ctx because `given` holds there. False if no value was
   found; if *radix is not 0 then, there would be one if *low were in 0..radix-1. */
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
    if (!prover_entails(p, ctx, *given))
        return d.kind == SYM_FLOOR && by_rows(p, ctx, d, value, given);
    if (d.kind == SYM_FLOOR) *value = high;
    else if (d.word == d.narg - 2) *value = *low;
    else *value = poly_digit(p->w, high, d.arg + 1, (int)d.narg - 2, (int)d.word);
    return true;
}
/* Replaces x by high * radix + low with low < radix, if x runs over a multiple of radix. */
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
    term_eliminate(p, t, x, value);
    term_add(p, t, high);
    term_add(p, t, low);
    Lit range[4] = {at_least_zero(p, high), less_than(p, high, count), at_least_zero(p, low),
                    less_than(p, low, radix)};
    t->dom = dom_and(p, t->dom, dom_make(p, 4, range));
    return true;
}
/* Notes in p->split that the index x of the output would have to be split. */
static void wish_split(Prover *p, Dom ctx, Symbol x, Poly radix) {
    Poly n, count;
    Lit lit[2];
    if (p->split.variable || !among(x, p->nindex, p->index) || !range_from_zero(p, ctx, x, &n, lit))
        return;
    if (n != radix && poly_divide(p->w, n, radix, &count) && never_negative(p, ctx, radix))
        p->split = (Split){x, radix, count};
}
static bool is_derived(Prover *p, Symbol s) { return symbol_def(p->w, s).kind != SYM_BOUND; }

/* Collects the symbols of the term that are defined by others: floors, minima, digits, places.
   Returns how many. */
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
/* Writes a digit of e that nothing simplifies with quotients: floor(e/b) - n*floor(e/(n*b)), where
   n is the digit's radix and b the product of the radices after it. A sum that puts the digits of
   one number together again then becomes that number. */
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
/* Replaces x by its value in the term. `given`, on which this rests, holds on the term's domain; it
   is added to the domain, because a literal from which it follows may mention x and change. */
static void replace_symbol(Prover *p, Dom ctx, NfTerm *t, Symbol x, Poly value, Dom given) {
    explain_value(p, "by its definition", x, value, given);
    if (!prover_entails(p, ctx, given)) t->dom = dom_and(p, t->dom, given);
    *t = term_subst(p, *t, (Map){1, &x, &value});
}
bool digits_resolve(Prover *p, Dom ctx, NfTerm *t) {
    Dom given;
    enum { DERIVED_MAX = 32 }; /* further symbols are left as they are */
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
