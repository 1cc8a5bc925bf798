/* apply.c -- applies functions to normal forms, except powers (powers.c) and maxima (maximum.c). It
   also splits forms into cells of their free guards, within which a function sees no such guard
   (apply.h). */
#include "verifier/explain.h"
#include "verifier/signs.h"
#include "verifier/simplify.h"
#include <math.h>
#include <string.h>

/* ---- cells */

/* Returns whether `known` contains the literal or its negation. */
static bool literal_decided(Prover *p, Dom known, Lit l) {
    Lit no[2];
    if (dom_has(p, known, l)) return true;
    for (int k = lit_negate(p, l, no); k--;)
        if (lit_truth(p, &no[k]) == 1 || dom_has(p, known, no[k])) return true;
    return false;
}
static int split_cell(Prover *p, Dom ctx, Cell c, Lit l, Cell out[3]) {
    Lit branch[3];
    int n = 0, m = 1 + lit_negate(p, l, branch + 1);
    branch[0] = l;
    for (int k = 0; k < m; k++) {
        Dom d = dom_make(p, 1, &branch[k]);
        if (prover_empty(p, dom_and(p, ctx, c.known), d)) continue;
        out[n++] = (Cell){dom_and(p, c.known, d), dom_and(p, c.guard, d)};
    }
    if (n == 1) out[0].guard = c.guard; /* the literal follows from ctx */
    return n;
}
static int split_cells(Prover *p, Dom ctx, Lit l, Cell *cell, int n) {
    Cell next[3 * CELLS_MAX];
    int m = 0;
    for (int k = 0; k < n; k++)
        if (literal_decided(p, cell[k].known, l)) next[m++] = cell[k];
        else m += split_cell(p, ctx, cell[k], l, next + m);
    if (m > CELLS_MAX) prover_fail(p, "too many cases of guards");
    memcpy(cell, next, sizeof *cell * (size_t)m);
    return m;
}
int cells_make(Prover *p, Dom ctx, int nnf, const Nf *nf, int nexcept, const Symbol *except,
               Cell cell[CELLS_MAX]) {
    int n = 1;
    cell[0] = (Cell){0};
    for (int a = 0; a < nnf; a++) {
        int size = nf_size(p, nf[a]);
        for (int k = 0; k < size; k++) {
            Ratio c;
            const NfTerm *t = &nf_body(p, nf[a], k, &c)->term;
            Lits l = dom_lits(p, t->dom);
            for (int j = 0; j < l.n; j++)
                if (!lit_mentions(p, l.v[j], t->nvar, t->var) &&
                    !lit_mentions(p, l.v[j], nexcept, except))
                    n = split_cells(p, ctx, l.v[j], cell, n);
        }
    }
    explain_cases(p, n, cell);
    return n;
}
/* Drops the term's guards that `known` decides; false if one of them does not hold. */
static bool restrict_term(Prover *p, NfTerm *t, Dom known) {
    Lits l = dom_lits(p, t->dom);
    Lit *keep = ARENA_NEW(p->arena, Lit, l.n), no[2];
    int n = 0;
    for (int k = 0; k < l.n; k++) {
        if (dom_has(p, known, l.v[k])) continue;
        for (int j = lit_negate(p, l.v[k], no); j--;)
            if (lit_truth(p, &no[j]) < 0 && dom_has(p, known, no[j])) return false;
        keep[n++] = l.v[k];
    }
    t->dom = dom_make(p, n, keep);
    return true;
}
Nf cell_restrict(Prover *p, Nf nf, Dom known) {
    int size = nf_size(p, nf), n = 0;
    if (!known) return nf;
    NfTerm *t = ARENA_NEW(p->arena, NfTerm, size);
    for (int k = 0; k < size; k++) {
        t[n] = nf_term(p, nf, k);
        n += restrict_term(p, &t[n], known);
    }
    return nf_from(p, n, t);
}

/* ---- functions */

static Nf nf_one(Prover *p) { return nf_number(p, ratio(1, 1)); }

bool positive_on(Prover *p, Dom ctx, Nf nf) {
    int n = nf_size(p, nf);
    if (nf_positive(p, nf)) return true;
    for (int k = 0; k < n; k++) {
        NfTerm t = nf_term(p, nf, k);
        bool good = t.c.p > 0;
        for (int j = 0; j < t.nfactor; j++) good = good && atom_positive(p, t.factor[j].atom);
        good = good && nf_nonnegative(p, nf_add(p, nf, nf_negated(p, nf_of(p, t))));
        for (int j = 0; j < t.nvar && good; j++) good = project(p, &t.dom, t.var[j], 0, NULL);
        if (good && prover_entails(p, ctx, t.dom)) return true;
    }
    return false;
}
/* If the term is log(a) for an a that is positive where ctx holds, sets *a. */
static bool is_log(Prover *p, Dom ctx, const NfTerm *t, Nf *a) {
    const AtomInfo *i = t->nfactor == 1 ? atom_info(p, t->factor[0].atom) : NULL;
    if (!i || t->nvar || t->dom || i->kind != AT_FN || i->word != FN_LOG ||
        !ratio_is(t->factor[0].power, 1))
        return false;
    *a = i->a;
    return positive_on(p, ctx, *a);
}
/* exp(sum of c * t) = product of exp(t)^c; exp(c * log(a)) = a^c. */
Nf apply_exp(Prover *p, Dom ctx, Nf nf) {
    NfTerm r = {.c = ratio(1, 1)};
    Nf powers = nf_one(p), a;
    int n = nf_size(p, nf);
    for (int k = 0; k < n; k++) {
        NfTerm t = nf_term(p, nf, k);
        Ratio c = t.c;
        t.c = ratio(1, 1);
        if (is_log(p, ctx, &t, &a)) powers = nf_mul(p, powers, power_plain(p, a, c));
        else r = term_factor(p, r, atom_nested(p, AT_FN, FN_EXP, nf_of(p, t), 0), c);
    }
    return nf_mul(p, powers, nf_of(p, r));
}
/* If the form is a number at which the value of f is a known rational, sets *value. */
static bool known_value(Prover *p, Function f, Nf nf, Nf *value) {
    Ratio c;
    double zero = function_facts(f)->at_zero;
    if (!nf_constant(p, nf, &c)) return false;
    Number y = numbers_ratio.call(f, (Number){.ratio = c});
    if (function_facts(f)->rational && f != FN_RECIP && y.ratio.q > 0) {
        *value = nf_number(p, y.ratio);
        return true;
    }
    if (c.p || !isfinite(zero)) return false;
    *value = nf_number(p, ratio((int64_t)(2 * zero), 2));
    return true;
}
static Nf atom_of(Prover *p, Function f, Nf nf) {
    return nf_atom(p, atom_nested(p, AT_FN, f, nf, 0));
}
static Nf log_plain(Prover *, Nf);
/* The logarithm of a power of an atom: log(exp(t)^c) = c*t and, in the second attempt,
   log(sigmoid(t)) = t - log(1 + exp(t)). For other atoms log(a^c) = c*log(a), even for odd c: where
   a is not positive, neither side is defined. */
static Nf log_of_factor(Prover *p, const Factor *f) {
    const AtomInfo *a = atom_info(p, f->atom);
    bool sigmoid = a->kind == AT_FN && a->word == FN_SIGMOID;
    p->unrollable |= sigmoid;
    if (sigmoid && p->unroll) {
        Nf sum = nf_add(p, nf_one(p), apply_exp(p, DOM_TRUE, a->a));
        return nf_scale(p, nf_add(p, a->a, nf_negated(p, log_plain(p, sum))), f->power);
    }
    if (a->kind == AT_FN && a->word == FN_EXP) return nf_scale(p, a->a, f->power);
    return nf_scale(p, atom_of(p, FN_LOG, a->kind == AT_BASE ? a->a : nf_atom(p, f->atom)),
                    f->power);
}
/* The logarithm of a form: log(a*b) = log(a) + log(b) for every positive atom a that all terms
   share. If the rest is one factor to an odd power, its exponent is taken out, too. */
static Nf log_plain(Prover *p, Nf nf) {
    NfTerm common = common_factor(p, 1, &nf, false, 0, NULL), positive = {.c = ratio(1, 1)};
    Nf sum = 0;
    for (int k = 0; k < common.nfactor; k++)
        if (atom_positive(p, common.factor[k].atom)) {
            sum = nf_add(p, sum, log_of_factor(p, &common.factor[k]));
            positive = term_factor(p, positive, common.factor[k].atom, common.factor[k].power);
        }
    Nf rest = divide_out(p, nf, positive);
    Ratio c;
    if (nf_constant(p, rest, &c) && ratio_is(c, 1)) return sum;
    NfTerm t = nf_term(p, rest, 0);
    bool single = nf_size(p, rest) == 1 && !t.nvar && !t.dom && t.nfactor == 1 && ratio_is(t.c, 1);
    bool odd = single && t.factor[0].power.q == 1 && t.factor[0].power.p % 2 != 0;
    return nf_add(p, sum, odd ? log_of_factor(p, &t.factor[0]) : atom_of(p, FN_LOG, rest));
}
/* Returns whether the atom is an integer for all inputs. */
static bool is_whole_atom(Prover *p, Atom atom) {
    const AtomInfo *a = atom_info(p, atom);
    const DType type = prover_type(p, atom);
    if (a->kind == AT_INPUT) return type && dtype_class(type) != 'F';
    if (a->kind != AT_FN) return a->kind == AT_SIZE || a->kind == AT_VALUE;
    return a->word == FN_FLOOR || a->word == FN_ROUND || a->word == FN_SIGN || a->word == FN_DELTA;
}
/* The part of the form that is surely a multiple of `step`: products of integers to positive
   powers, with the multiple of `step` that is in their coefficient. */
static Nf whole_terms(Prover *p, Nf nf, int64_t step) {
    int n = nf_size(p, nf), m = 0;
    NfTerm *t = ARENA_NEW(p->arena, NfTerm, n);
    for (int k = 0; k < n; k++) {
        t[m] = nf_term(p, nf, k);
        bool whole = t[m].c.q == 1 && !t[m].nvar && !t[m].dom;
        for (int j = 0; j < t[m].nfactor; j++)
            whole = whole && t[m].factor[j].power.q == 1 && t[m].factor[j].power.p > 0 &&
                    is_whole_atom(p, t[m].factor[j].atom);
        t[m].c.p -= whole ? t[m].c.p % step : 0;
        m += whole && t[m].c.p;
    }
    return nf_from(p, m, t);
}
/* If the form is floor(y)/k + w/k for an integer k > 1 and an integer w, sets *out to y/k + w/k,
   which has the same floor. */
static bool floor_inside(Prover *p, Nf nf, Nf *out) {
    int n = nf_size(p, nf), at = -1;
    Ratio c = {0, 1}, one;
    for (int k = 0; k < n; k++) {
        const NfTerm *t = &nf_body(p, nf, k, &one)->term;
        const AtomInfo *a = t->nfactor == 1 ? atom_info(p, t->factor[0].atom) : NULL;
        if (!a || t->nvar || t->dom || a->kind != AT_FN || a->word != FN_FLOOR ||
            !ratio_is(t->factor[0].power, 1))
            continue;
        if (at >= 0) return false;
        at = k;
        c = one;
    }
    if (at < 0 || c.p != 1 || c.q < 2) return false;
    Nf scaled = nf_scale(p, nf, ratio(c.q, 1));
    if (whole_terms(p, scaled, 1) != scaled) return false;
    NfTerm t = nf_term(p, nf, at);
    Nf inner = nf_scale(p, atom_info(p, t.factor[0].atom)->a, c);
    *out = nf_add(p, nf_add(p, nf, nf_negated(p, nf_of(p, t))), inner);
    return true;
}
/* Returns whether the form contains a maximum. Nothing is then taken out of floor or round, since
   the parts of a maximum should stay together with what is added to it. */
static bool has_maximum(Prover *p, Nf nf) {
    int n = nf_size(p, nf);
    for (int k = 0; k < n; k++) {
        Ratio c;
        const NfTerm *t = &nf_body(p, nf, k, &c)->term;
        for (int j = 0; j < t->nfactor; j++)
            if (atom_info(p, t->factor[j].atom)->kind == AT_MAX) return true;
    }
    return false;
}
/* floor(n + x) = n + floor(x) for an integer n. The same holds for round if n is even, since round
   takes halves to even numbers. */
static bool apply_whole(Prover *p, Function f, Nf nf, Nf *out) {
    Nf inside;
    if (f != FN_FLOOR && f != FN_ROUND) return false;
    Nf whole = whole_terms(p, nf, 1), rest = nf_add(p, nf, nf_negated(p, whole));
    if (f == FN_ROUND && rest) {
        whole = whole_terms(p, nf, 2);
        rest = nf_add(p, nf, nf_negated(p, whole));
    }
    if (f == FN_FLOOR && !has_maximum(p, rest) && floor_inside(p, rest, &inside)) {
        *out = nf_add(p, whole, apply_plain(p, f, inside));
        return true;
    }
    if (!whole || has_maximum(p, rest)) return false;
    *out = rest ? nf_add(p, whole, apply_plain(p, f, rest)) : whole;
    return true;
}
/* Whether exp of the form is a product of powers: a term of it is the logarithm of something
   positive. */
static bool has_log(Prover *p, Nf nf) {
    const int n = nf_size(p, nf);
    Nf a;
    for (int k = 0; k < n; k++) {
        const NfTerm t = nf_term(p, nf, k);
        if (is_log(p, DOM_TRUE, &t, &a)) return true;
    }
    return false;
}
/* sigmoid(t) = e/(1 + e) for e = exp(t). */
static Nf sigmoid_by_exp(Prover *p, Nf nf) {
    const Nf e = apply_exp(p, DOM_TRUE, nf);
    return nf_mul(p, e, power_plain(p, nf_add(p, nf_one(p), e), ratio(-1, 1)));
}
/* Uses tanh(x) = 2 sigmoid(2x) - 1, sigmoid(-x) = 1 - sigmoid(x) and ceil(x) = -floor(-x); a
   negative sign of the argument is taken out of odd and even functions. */
Nf apply_plain(Prover *p, Function f, Nf nf) {
    Nf value;
    Ratio c = ratio(1, 1);
    if (f == FN_EXP) return apply_exp(p, DOM_TRUE, nf);
    if (f == FN_LOG && nf) return log_plain(p, nf);
    if (f == FN_RECIP) return power_plain(p, nf, ratio(-1, 1));
    if (f == FN_SQRT) return power_plain(p, nf, ratio(1, 2));
    if (f == FN_CEIL) return nf_negated(p, apply_plain(p, FN_FLOOR, nf_negated(p, nf)));
    if (known_value(p, f, nf, &value) || apply_whole(p, f, nf, &value)) return value;
    if (f == FN_TANH)
        return nf_add(
            p, nf_scale(p, apply_plain(p, FN_SIGMOID, nf_scale(p, nf, ratio(2, 1))), ratio(2, 1)),
            nf_negated(p, nf_one(p)));
    if (f == FN_SIGMOID && has_log(p, nf)) {
        p->unrollable = true;
        if (p->unroll) return sigmoid_by_exp(p, nf);
    }
    bool minus = lead_term(p, nf, &c) >= 0 && c.p < 0;
    if (minus && f == FN_SIGMOID)
        return nf_add(p, nf_one(p), nf_negated(p, atom_of(p, f, nf_negated(p, nf))));
    if (minus && function_facts(f)->parity > 0) return atom_of(p, f, nf_negated(p, nf));
    if (minus && function_facts(f)->parity < 0)
        return nf_negated(p, atom_of(p, f, nf_negated(p, nf)));
    return atom_of(p, f, nf);
}
Nf apply_function(Prover *p, Dom ctx, Function f, Nf nf) {
    Cell cell[CELLS_MAX];
    Nf sum = 0;
    if (f == FN_ABS && !p->exact && nf_nonnegative(p, nf)) return nf;
    if (f == FN_ABS && !p->exact) return apply_max2(p, ctx, nf, nf_negated(p, nf));
    int n = cells_make(p, ctx, 1, &nf, 0, NULL, cell);
    for (int k = 0; k < n; k++) {
        Nf x = cell_restrict(p, nf, cell[k].known);
        Nf y = p->exact      ? atom_of(p, f, x)
               : f == FN_EXP ? apply_exp(p, dom_and(p, ctx, cell[k].known), x)
                             : apply_plain(p, f, x);
        sum = nf_add(p, sum, nf_guard(p, y, cell[k].guard));
    }
    return sum;
}
Nf apply_power(Prover *p, Dom ctx, Nf nf, Ratio power) {
    Cell cell[CELLS_MAX];
    Nf sum = 0;
    int n = cells_make(p, ctx, 1, &nf, 0, NULL, cell);
    for (int k = 0; k < n; k++)
        sum = nf_add(
            p, sum,
            nf_guard(p, power_plain(p, cell_restrict(p, nf, cell[k].known), power), cell[k].guard));
    return sum;
}
Nf apply_pair(Prover *p, Dom ctx, uint32_t word, Nf a, Nf b) {
    Cell cell[CELLS_MAX];
    Nf sum = 0;
    int n = cells_make(p, ctx, 2, (Nf[]){a, b}, 0, NULL, cell);
    for (int k = 0; k < n; k++) {
        Nf x = cell_restrict(p, a, cell[k].known), y = cell_restrict(p, b, cell[k].known);
        sum = nf_add(p, sum,
                     nf_guard(p, nf_atom(p, atom_nested(p, AT_PAIR, word, x, y)), cell[k].guard));
    }
    return sum;
}
Nf apply_sum(Prover *p, Dom ctx, Part part) {
    Cell cell[CELLS_MAX];
    Nf sum = 0;
    int n = cells_make(p, ctx, 1, &part.nf, part.nvar, part.var, cell);
    for (int k = 0; k < n; k++) {
        Part x = part;
        x.nf = cell_restrict(p, part.nf, cell[k].known);
        if (!x.nf) continue;
        sum = nf_add(p, sum, nf_guard(p, nf_atom(p, atom_parts(p, AT_SUM, 1, &x)), cell[k].guard));
    }
    return sum;
}
