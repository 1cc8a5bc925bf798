/* tables.c -- literals, sets of them, polynomials' variables, and atoms: the interned parts of
   normal forms. */
#include "verifier/tables.h"
#include <string.h>

/* Twice what any proof of our rules takes; seconds. */
enum { STEPS_MAX = 1000000 };

const Switches switches_all = {true, true, true, true, true, true};

void normal_init(Prover *p) {
    Normal *t = p->tables = ARENA_NEW(p->arena, Normal, 1);
    t->dom = intern_new(p->arena);
    t->atom = intern_new(p->arena);
    t->body = intern_new(p->arena);
    t->nf = intern_new(p->arena);
    t->mask = symbol_bound(p->w, 0);
}
void normal_done(Prover *p) {
    if (!p->tables) return;
    intern_free(p->tables->dom);
    intern_free(p->tables->atom);
    intern_free(p->tables->body);
    intern_free(p->tables->nf);
    p->tables = NULL;
}
void prover_fail(Prover *p, const char *why) {
    p->why = why;
    escape_raise(p->escape, E_LIMIT, "%s", why);
}
void prover_spend(Prover *p, int steps) {
    p->steps += (uint64_t)steps;
    if (p->steps > STEPS_MAX) prover_fail(p, "the proof takes too many steps");
}

void words_put(Prover *p, RecordWords *w, uint32_t x) {
    ARENA_GROW(p->arena, w->v, w->room, w->n + 1);
    w->v[w->n++] = x;
}
void words_ratio(Prover *p, RecordWords *w, Ratio r) {
    words_put(p, w, (uint32_t)r.p);
    words_put(p, w, (uint32_t)((uint64_t)r.p >> 32));
    words_put(p, w, (uint32_t)r.q);
    words_put(p, w, (uint32_t)((uint64_t)r.q >> 32));
}
void *slot_get(const Slots *s, uint32_t id) { return id < s->room ? s->v[id] : NULL; }
void slot_set(Prover *p, Slots *s, uint32_t id, void *x) {
    if (id >= s->room) {
        uint32_t room = 2 * id + 64;
        void **v = arena_alloc(p->arena, sizeof *v * room);
        if (s->room) memcpy(v, s->v, sizeof *v * s->room);
        s->v = v;
        s->room = room;
    }
    s->v[id] = x;
}
Symbol nest_symbol(Prover *p, int height, int k) {
    if (height >= HEIGHT_MAX || k >= NEST_MAX) prover_fail(p, "nested too deeply");
    Symbol *s = &p->tables->nest[height][k];
    if (*s) return *s;
    *s = symbol_bound(p->w, 0);
    slot_set(p, &p->tables->nested, *s, p);
    return *s;
}
bool variable_nested(Prover *p, Symbol s) { return slot_get(&p->tables->nested, s) != NULL; }
Symbol variable_new(Prover *p) { return symbol_bound(p->w, 0); }
uint64_t mix(uint64_t a, uint64_t b) { return hash_bytes((uint64_t[]){a, b}, 16); }

/* ---- rationals */

Ratio ratio(int64_t p, int64_t q) { return numbers_ratio.ratio(p, q).ratio; }
static Ratio finite(Prover *p, Number n) {
    if (n.ratio.q <= 0) prover_fail(p, "a coefficient exceeds 64 bits");
    return n.ratio;
}
Ratio ratio_plus(Prover *p, Ratio a, Ratio b) {
    return finite(p, numbers_ratio.add((Number){.ratio = a}, (Number){.ratio = b}));
}
Ratio ratio_times(Prover *p, Ratio a, Ratio b) {
    return finite(p, numbers_ratio.mul((Number){.ratio = a}, (Number){.ratio = b}));
}

/* ---- variables of polynomials */

/* Floors, minima and digits of variables count as variables themselves, but not where one of their
   variables is excepted. */
static bool excepted(Prover *p, Symbol s, int n, const Symbol *except) {
    if (!n) return false;
    SymbolKind kind = symbol_def(p->w, s).kind;
    return kind == SYM_BOUND ? among(s, n, except)
                             : poly_mentions_any(p, poly_symbol(p->w, s), n, except);
}
void free_add(Prover *p, int *n, Symbol **v, int nadd, const Symbol *add, int nexcept,
              const Symbol *except) {
    for (int k = 0; k < nadd; k++) {
        if (among(add[k], *n, *v) || excepted(p, add[k], nexcept, except)) continue;
        Symbol *more = ARENA_NEW(p->arena, Symbol, *n + 1);
        if (*n) memcpy(more, *v, sizeof *more * (size_t)*n);
        more[(*n)++] = add[k];
        *v = more;
    }
}
/* The variables of a derived symbol were collected before. */
static bool derived_known(Prover *p, SymbolDef d, int n, Symbol *v) {
    for (uint32_t j = 0; j < d.narg; j++)
        for (int k = 0; k < n; k++)
            if (poly_mentions(p->w, d.arg[j], v[k])) return true;
    return false;
}
static void collect_variables(Prover *p, Poly x, int *n, Symbol **v) {
    PolyScan s = poly_scan(p->w, x);
    for (Monomial m; poly_next(&s, &m);)
        for (uint32_t k = 0; k < m.degree; k++) {
            SymbolDef d = symbol_def(p->w, m.symbol[k]);
            int before = *n;
            if (d.kind != SYM_BOUND)
                for (uint32_t j = 0; j < d.narg; j++) collect_variables(p, d.arg[j], n, v);
            if (d.kind == SYM_BOUND || *n > before || derived_known(p, d, *n, *v))
                free_add(p, n, v, 1, &m.symbol[k], 0, NULL);
        }
}
const PolyInfo *poly_info(Prover *p, Poly x) {
    PolyInfo *info = slot_get(&p->tables->polys, x);
    if (info) return info;
    info = ARENA_NEW(p->arena, PolyInfo, 1);
    Symbol *v = NULL;
    collect_variables(p, x, &info->n, &v);
    info->variable = v;
    info->masked = x;
    if (info->n) {
        Poly *to = ARENA_NEW(p->arena, Poly, info->n);
        for (int k = 0; k < info->n; k++) to[k] = poly_symbol(p->w, p->tables->mask);
        info->masked = poly_subst(p->w, x, info->n, v, to);
    }
    slot_set(p, &p->tables->polys, x, info);
    return info;
}
int poly_variables(Prover *p, Poly x, const Symbol **v) {
    const PolyInfo *info = poly_info(p, x);
    *v = info->variable;
    return info->n;
}
bool poly_mentions_any(Prover *p, Poly x, int n, const Symbol *v) {
    const PolyInfo *info = poly_info(p, x);
    for (int k = 0; k < info->n; k++)
        if (among(info->variable[k], n, v)) return true;
    return false;
}
static Poly subst(Prover *p, Poly x, Map m) {
    if (!poly_mentions_any(p, x, m.n, m.from)) return x;
    Poly r = poly_subst(p->w, x, m.n, m.from, m.to);
    if (overflow_noted(p->w)) prover_fail(p, "a size exceeds 64 bits");
    return r;
}

/* ---- literals */

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b && (a < 0) != (b < 0)); }
/* gcd of the coefficients but the constant one, which is put into *c. */
static int64_t split_content(const World *w, Poly x, int64_t *c) {
    int64_t g = 0;
    PolyScan s = poly_scan(w, x);
    *c = 0;
    for (Monomial m; poly_next(&s, &m);)
        if (m.degree) g = integer_gcd(g, m.coefficient);
        else *c = m.coefficient;
    return g;
}
int lit_truth(Prover *p, Lit *l) {
    int64_t c, g = split_content(p->w, l->p, &c);
    if (!g) return l->eq ? c == 0 : c >= 0;
    if (l->eq && c % g) return 0;
    if (g > 1) {
        Poly q = 0;
        poly_divide(p->w, poly_sub(p->w, l->p, poly_int(p->w, c)), poly_int(p->w, g), &q);
        l->p = poly_add(p->w, q, poly_int(p->w, floor_div(c, g)));
    }
    if (l->eq) {
        Monomial m;
        PolyScan s = poly_scan(p->w, l->p);
        if (poly_next(&s, &m) && m.coefficient < 0) l->p = poly_scale(p->w, l->p, -1);
    }
    return -1;
}
Lit lit_ge(Prover *p, Poly a, Poly b) { return (Lit){poly_sub(p->w, a, b), false}; }
Lit lit_eq(Prover *p, Poly a, Poly b) { return (Lit){poly_sub(p->w, a, b), true}; }
int lit_negate(Prover *p, Lit l, Lit out[2]) {
    Poly one = poly_int(p->w, 1), minus = poly_sub(p->w, poly_scale(p->w, l.p, -1), one);
    out[0] = (Lit){minus, false};
    if (!l.eq) return 1;
    out[1] = (Lit){poly_sub(p->w, l.p, one), false};
    return 2;
}
bool lit_mentions(Prover *p, Lit l, int n, const Symbol *v) {
    return poly_mentions_any(p, l.p, n, v);
}

/* ---- sets of literals */

static uint32_t pack(Lit l) { return l.p << 1 | l.eq; }
static Lit unpack(uint32_t x) { return (Lit){x >> 1, x & 1}; }

/* Sorted insertion without repetition; false when the literal is plainly false. */
static bool insert_literal(Prover *p, uint32_t *v, int *n, Lit l) {
    int truth = lit_truth(p, &l);
    if (truth >= 0) return truth;
    uint32_t x = pack(l);
    int k = *n;
    for (int j = 0; j < *n; j++)
        if (v[j] == x) return true;
    while (k && v[k - 1] > x) {
        v[k] = v[k - 1];
        k--;
    }
    v[k] = x;
    ++*n;
    return true;
}
static Dom dom_intern(Prover *p, int n, const uint32_t *v) {
    if (!n) return DOM_TRUE;
    Dom d = intern_put(p->tables->dom, v, sizeof *v * (size_t)n);
    if (slot_get(&p->tables->doms, d)) return d;
    Lits *lits = ARENA_NEW(p->arena, Lits, 1);
    Lit *list = ARENA_NEW(p->arena, Lit, n);
    for (int k = 0; k < n; k++) list[k] = unpack(v[k]);
    *lits = (Lits){n, list};
    slot_set(p, &p->tables->doms, d, lits);
    return d;
}
static Dom dom_false_set(Prover *p) {
    return dom_intern(p, 1, (uint32_t[]){pack((Lit){poly_int(p->w, -1), false})});
}

Lits dom_lits(Prover *p, Dom d) { return d ? *(Lits *)slot_get(&p->tables->doms, d) : (Lits){0}; }
Dom dom_make(Prover *p, int n, const Lit *l) {
    if (!n) return DOM_TRUE;
    prover_spend(p, n);
    uint32_t *v = arena_alloc_raw(p->arena, sizeof *v * (size_t)n);
    int count = 0;
    for (int k = 0; k < n; k++)
        if (!insert_literal(p, v, &count, l[k])) return dom_false_set(p);
    return dom_intern(p, count, v);
}
Dom dom_and(Prover *p, Dom a, Dom b) {
    if (!a || a == b) return b;
    if (!b) return a;
    Lits x = dom_lits(p, a), y = dom_lits(p, b);
    Lit *both = ARENA_NEW(p->arena, Lit, x.n + y.n);
    memcpy(both, x.v, sizeof *both * (size_t)x.n);
    memcpy(both + x.n, y.v, sizeof *both * (size_t)y.n);
    return dom_make(p, x.n + y.n, both);
}
Dom dom_with(Prover *p, Dom d, Lit l) { return dom_and(p, d, dom_make(p, 1, &l)); }
Dom dom_without(Prover *p, Dom d, Lit l) {
    Lits x = dom_lits(p, d);
    Lit *rest = ARENA_NEW(p->arena, Lit, x.n);
    int n = 0;
    for (int k = 0; k < x.n; k++)
        if (pack(x.v[k]) != pack(l)) rest[n++] = x.v[k];
    return dom_make(p, n, rest);
}
bool dom_false(Prover *p, Dom d) { return d && d == dom_false_set(p); }
bool dom_has(Prover *p, Dom d, Lit l) {
    Lits x = dom_lits(p, d);
    for (int k = 0; k < x.n; k++)
        if (pack(x.v[k]) == pack(l)) return true;
    return false;
}
Dom dom_subst(Prover *p, Dom d, Map m) {
    Lits x = dom_lits(p, d);
    bool any = false;
    for (int k = 0; k < x.n && !any; k++) any = lit_mentions(p, x.v[k], m.n, m.from);
    if (!any) return d;
    Lit *v = ARENA_NEW(p->arena, Lit, x.n);
    for (int k = 0; k < x.n; k++) v[k] = (Lit){subst(p, x.v[k].p, m), x.v[k].eq};
    return dom_make(p, x.n, v);
}
bool dom_mentions(Prover *p, Dom d, Symbol s) {
    Lits x = dom_lits(p, d);
    for (int k = 0; k < x.n; k++)
        if (lit_mentions(p, x.v[k], 1, &s)) return true;
    return false;
}
void dom_print(Prover *p, Dom d, Text *t) {
    if (d) lits_print(p->w, dom_lits(p, d), t);
}

/* ---- atoms */

const AtomInfo *atom_info(Prover *p, Atom a) { return slot_get(&p->tables->atoms, a); }

static void note_nf(Prover *p, AtomInfo *i, Symbol **v, Nf nf, int nexcept, const Symbol *except) {
    int n = nf_size(p, nf);
    uint64_t sum = 0;
    for (int k = 0; k < n; k++) {
        Ratio c;
        const BodyInfo *b = nf_body(p, nf, k, &c);
        i->heads += mix(b->heads, 1);
        free_add(p, &i->nfree, v, b->nfree, b->free, nexcept, except);
        if (b->height > i->height) i->height = b->height;
        sum += mix(b->mask, mix((uint64_t)c.p, (uint64_t)c.q)); /* in any order */
    }
    i->mask = mix(i->mask, sum);
}
static void note_poly(Prover *p, AtomInfo *i, Symbol **v, Poly x, int nexcept,
                      const Symbol *except) {
    const PolyInfo *info = poly_info(p, x);
    free_add(p, &i->nfree, v, info->n, info->variable, nexcept, except);
    i->mask = mix(i->mask, info->masked);
}
static void note_dom(Prover *p, AtomInfo *i, Symbol **v, Dom d, int nexcept, const Symbol *except) {
    Lits x = dom_lits(p, d);
    uint64_t sum = 0, before = i->mask;
    for (int k = 0; k < x.n; k++) {
        i->mask = x.v[k].eq;
        note_poly(p, i, v, x.v[k].p, nexcept, except);
        sum += i->mask;
    }
    i->mask = mix(before, sum);
}
static void note_parts(Prover *p, AtomInfo *i, Symbol **v) {
    uint64_t sum = 0, before = i->mask;
    int height = 0;
    for (int k = 0; k < i->npart; k++) {
        const Part *x = &i->part[k];
        i->mask = 0;
        i->height = 0;
        note_nf(p, i, v, x->nf, x->nvar, x->var);
        note_dom(p, i, v, x->dom, x->nvar, x->var);
        sum += i->mask; /* in any order */
        if (i->height + (x->nvar > 0) > height) height = i->height + (x->nvar > 0);
    }
    if (i->npart) i->height = height;
    i->mask = mix(before, sum);
}
/* Interns the record; what follows from it is worked out once. */
static Atom atom_put(Prover *p, AtomInfo info) {
    RecordWords w = {0};
    uint64_t bits;
    memcpy(&bits, &info.real, sizeof bits);
    words_put(p, &w, info.kind);
    words_put(p, &w, info.word);
    words_put(p, &w, (uint32_t)bits);
    words_put(p, &w, (uint32_t)(bits >> 32));
    words_put(p, &w, info.a);
    words_put(p, &w, info.b);
    words_put(p, &w, (uint32_t)info.nindex);
    for (int k = 0; k < info.nindex; k++) words_put(p, &w, info.index[k]);
    for (int k = 0; k < info.npart; k++) {
        words_put(p, &w, (uint32_t)info.part[k].nvar);
        words_put(p, &w, info.part[k].dom);
        words_put(p, &w, info.part[k].nf);
        for (int j = 0; j < info.part[k].nvar; j++) words_put(p, &w, info.part[k].var[j]);
    }
    Atom a = intern_put(p->tables->atom, w.v, sizeof *w.v * (size_t)w.n);
    if (atom_info(p, a)) return a;
    AtomInfo *i = ARENA_NEW(p->arena, AtomInfo, 1);
    Symbol *v = NULL;
    *i = info;
    i->heads = i->mask = mix(mix(info.kind, info.word), bits);
    i->index = arena_copy(p->arena, info.index, sizeof *info.index * (size_t)info.nindex);
    for (int k = 0; k < info.nindex; k++) note_poly(p, i, &v, info.index[k], 0, NULL);
    note_nf(p, i, &v, info.a, 0, NULL);
    note_nf(p, i, &v, info.b, 0, NULL);
    note_parts(p, i, &v);
    i->free = v;
    slot_set(p, &p->tables->atoms, a, i);
    return a;
}
Atom atom_input(Prover *p, uint32_t input, int n, const Poly *index) {
    return atom_put(p, (AtomInfo){.kind = AT_INPUT, .word = input, .nindex = n, .index = index});
}
Atom atom_simple(Prover *p, AtomKind kind, uint32_t word) {
    return atom_put(p, (AtomInfo){.kind = kind, .word = word});
}
Atom atom_value(Prover *p, Poly x) {
    return atom_put(p, (AtomInfo){.kind = AT_VALUE, .nindex = 1, .index = &x});
}
Atom atom_real(Prover *p, double x) { return atom_put(p, (AtomInfo){.kind = AT_REAL, .real = x}); }
Atom atom_nested(Prover *p, AtomKind kind, uint32_t word, Nf a, Nf b) {
    return atom_put(p, (AtomInfo){.kind = kind, .word = word, .a = a, .b = b});
}

/* The variables of a part in the order in which its form shows them; those that only the domain has
   come last. */
static int part_order(Prover *p, const Part *part, Symbol *out, int *height) {
    int n = 0, size = nf_size(p, part->nf);
    *height = 0;
    for (int k = 0; k < size; k++) {
        Ratio c;
        const BodyInfo *b = nf_body(p, part->nf, k, &c);
        if (b->height > *height) *height = b->height;
        for (int j = 0; j < b->nfree; j++)
            if (among(b->free[j], part->nvar, part->var) && !among(b->free[j], n, out))
                out[n++] = b->free[j];
    }
    for (int j = 0; j < part->nvar; j++)
        if (!among(part->var[j], n, out)) out[n++] = part->var[j];
    return n;
}
static Part part_close(Prover *p, const Part *part) {
    int height;
    Symbol *order = ARENA_NEW(p->arena, Symbol, part->nvar + 1),
           *var = ARENA_NEW(p->arena, Symbol, part->nvar + 1);
    Poly *to = ARENA_NEW(p->arena, Poly, part->nvar + 1);
    int n = part_order(p, part, order, &height);
    for (int k = 0; k < n; k++) {
        var[k] = nest_symbol(p, height + 1, k);
        to[k] = poly_symbol(p->w, var[k]);
    }
    Map m = {n, order, to};
    return (Part){n, var, dom_subst(p, part->dom, m), nf_subst(p, part->nf, m)};
}
static bool part_after(const Part *a, const Part *b) {
    if (a->nf != b->nf) return a->nf > b->nf;
    return a->dom != b->dom ? a->dom > b->dom : a->nvar > b->nvar;
}
Atom atom_parts(Prover *p, AtomKind kind, int n, const Part *part) {
    Part *v = ARENA_NEW(p->arena, Part, n);
    for (int k = 0; k < n; k++) {
        Part x = part_close(p, &part[k]);
        int j = k;
        for (; j && part_after(&v[j - 1], &x); j--) v[j] = v[j - 1];
        v[j] = x;
    }
    return atom_put(p, (AtomInfo){.kind = kind, .npart = n, .part = v});
}
bool part_equal(const Part *a, const Part *b) {
    return a->nvar == b->nvar && a->dom == b->dom && a->nf == b->nf;
}
Part part_open(Prover *p, const Part *part) {
    Symbol *var = ARENA_NEW(p->arena, Symbol, part->nvar + 1);
    Poly *to = ARENA_NEW(p->arena, Poly, part->nvar + 1);
    for (int k = 0; k < part->nvar; k++) {
        var[k] = variable_new(p);
        to[k] = poly_symbol(p->w, var[k]);
    }
    Map m = {part->nvar, part->var, to};
    return (Part){part->nvar, var, dom_subst(p, part->dom, m), nf_subst(p, part->nf, m)};
}
bool atom_mentions_any(Prover *p, Atom a, int n, const Symbol *v) {
    const AtomInfo *i = atom_info(p, a);
    for (int k = 0; k < i->nfree; k++)
        if (among(i->free[k], n, v)) return true;
    return false;
}
Atom atom_subst(Prover *p, Atom a, Map m) {
    const AtomInfo *i = atom_info(p, a);
    if (!atom_mentions_any(p, a, m.n, m.from)) return a;
    if (i->npart) {
        Part *v = ARENA_NEW(p->arena, Part, i->npart);
        for (int k = 0; k < i->npart; k++) {
            v[k] = part_open(p, &i->part[k]);
            v[k].dom = dom_subst(p, v[k].dom, m);
            v[k].nf = nf_subst(p, v[k].nf, m);
        }
        return atom_parts(p, i->kind, i->npart, v);
    }
    Poly *index = ARENA_NEW(p->arena, Poly, i->nindex + 1);
    for (int k = 0; k < i->nindex; k++) index[k] = subst(p, i->index[k], m);
    return atom_put(p, (AtomInfo){.kind = i->kind,
                                  .word = i->word,
                                  .nindex = i->nindex,
                                  .index = index,
                                  .a = nf_subst(p, i->a, m),
                                  .b = nf_subst(p, i->b, m)});
}
static bool part_is_bare(const Part *x) { return !x->nvar && !x->dom; }
static bool size_at_least(Prover *p, Symbol s, int64_t low) {
    for (int k = 0; k < p->nsize; k++)
        if (p->size[k] == s) return p->low[k] >= low;
    return false;
}
bool atom_positive(Prover *p, Atom a) {
    const AtomInfo *i = atom_info(p, a);
    if (i->kind == AT_FN) return i->word == FN_EXP || i->word == FN_SIGMOID;
    if (i->kind == AT_BASE) return nf_positive(p, i->a);
    if (i->kind == AT_REAL) return i->real > 0;
    if (i->kind == AT_SIZE) return size_at_least(p, i->word, 1);
    for (int k = 0; i->kind == AT_MAX && k < i->npart; k++)
        if (part_is_bare(&i->part[k]) && nf_positive(p, i->part[k].nf)) return true;
    return false;
}
bool atom_nonnegative(Prover *p, Atom a) {
    const AtomInfo *i = atom_info(p, a);
    if (atom_positive(p, a)) return true;
    if (i->kind == AT_FN) return function_facts((Function)i->word)->low >= 0;
    if (i->kind == AT_BASE) return nf_nonnegative(p, i->a);
    if (i->kind == AT_INPUT) return i->word < 64 && p->natural >> i->word & 1;
    if (i->kind == AT_SIZE) return size_at_least(p, i->word, 0);
    for (int k = 0; i->kind == AT_MAX && k < i->npart; k++)
        if (part_is_bare(&i->part[k]) && nf_nonnegative(p, i->part[k].nf)) return true;
    return false;
}
