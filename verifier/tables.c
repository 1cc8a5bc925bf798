/* tables.c -- what all parts of normal forms share: the tables in which they are interned, the
   names of bound variables, coefficients, and the variables of polynomials. */
#include "verifier/tables.h"
#include <string.h>

/* Keys of variables: those of one kind follow each other. */
enum { KEY_MASK, KEY_NESTED, KEY_DEPTH, KEY_VARIABLE, KEY_SHIFT = 48 };

const Switches switches_all = {true, true, true, true, true, true};

static Symbol variable_keyed(Prover *p, int kind, uint64_t k) {
    const Symbol s = symbol_bound(p->w, 0);
    uint64_t *key = ARENA_NEW(p->arena, uint64_t, 1);
    *key = (uint64_t)kind << KEY_SHIFT | k;
    slot_set(p, &p->tables->keys, s, key);
    return s;
}
void normal_init(Prover *p) {
    Normal *t = p->tables = ARENA_NEW(p->arena, Normal, 1);
    t->dom = intern_new(p->arena);
    t->atom = intern_new(p->arena);
    t->body = intern_new(p->arena);
    t->nf = intern_new(p->arena);
    t->mask = variable_keyed(p, KEY_MASK, 0);
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
    if (p->steps > p->most_steps) prover_fail(p, "the proof takes too many steps");
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
    *s = variable_keyed(p, KEY_NESTED, (uint64_t)(height * NEST_MAX + k));
    slot_set(p, &p->tables->nested, *s, p);
    return *s;
}
Symbol depth_symbol(Prover *p, int k) {
    if (p->depth >= HEIGHT_MAX || k >= NEST_MAX) prover_fail(p, "nested too deeply");
    Symbol *s = &p->tables->open[p->depth][k];
    if (!*s) *s = variable_keyed(p, KEY_DEPTH, (uint64_t)(p->depth * NEST_MAX + k));
    return *s;
}
bool variable_nested(Prover *p, Symbol s) { return slot_get(&p->tables->nested, s) != NULL; }
Symbol variable_new(Prover *p) { return variable_keyed(p, KEY_VARIABLE, p->tables->nvariable++); }
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

/* ---- digests */

static uint64_t poly_digest(Prover *, Poly);
static uint64_t definition_digest(Prover *p, SymbolDef d) {
    uint64_t h = mix(d.kind, d.word);
    if (d.kind == SYM_NAMED) {
        const char *name = world_text(p->w, d.word);
        h = mix(d.kind, hash_bytes(name, strlen(name)));
    }
    for (uint32_t k = 0; k < d.narg; k++) h = mix(h, poly_digest(p, d.arg[k]));
    return h | (uint64_t)1 << 63;
}
uint64_t symbol_key(Prover *p, Symbol s) {
    const uint64_t *known = slot_get(&p->tables->keys, s);
    if (known) return *known;
    uint64_t *key = ARENA_NEW(p->arena, uint64_t, 1);
    *key = definition_digest(p, symbol_def(p->w, s));
    slot_set(p, &p->tables->keys, s, key);
    return *key;
}
/* Sums, since the order of monomials and of their symbols follows the numbers of symbols. */
static uint64_t poly_digest(Prover *p, Poly x) {
    uint64_t sum = 0;
    PolyScan s = poly_scan(p->w, x);
    for (Monomial m; poly_next(&s, &m);) {
        uint64_t product = m.degree;
        for (uint32_t k = 0; k < m.degree; k++) product += mix(symbol_key(p, m.symbol[k]), 0);
        sum += mix(product, (uint64_t)m.coefficient);
    }
    return sum;
}
static void sort_symbols(Prover *p, int n, Symbol *v) {
    for (int k = 1; k < n; k++) {
        const Symbol s = v[k];
        int j = k;
        for (; j && symbol_key(p, v[j - 1]) > symbol_key(p, s); j--) v[j] = v[j - 1];
        v[j] = s;
    }
}
const PolyInfo *poly_info(Prover *p, Poly x) {
    PolyInfo *info = slot_get(&p->tables->polys, x);
    if (info) return info;
    info = ARENA_NEW(p->arena, PolyInfo, 1);
    Symbol *v = NULL;
    collect_variables(p, x, &info->n, &v);
    sort_symbols(p, info->n, v);
    info->variable = v;
    PolyScan s = poly_scan(p->w, x);
    for (Monomial m; poly_next(&s, &m); info->nmonomial++)
        if (m.degree > info->degree) info->degree = m.degree;
    info->digest = info->mask = poly_digest(p, x);
    if (info->n) {
        Poly *to = ARENA_NEW(p->arena, Poly, info->n);
        for (int k = 0; k < info->n; k++) to[k] = poly_symbol(p->w, p->tables->mask);
        info->mask = poly_digest(p, poly_subst(p->w, x, info->n, v, to));
    }
    slot_set(p, &p->tables->polys, x, info);
    return info;
}
int variables_order(Prover *p, int na, const Symbol *a, int nb, const Symbol *b) {
    int c = 0;
    for (int k = 0; !c && k < na && k < nb; k++)
        c = order_of(symbol_key(p, a[k]), symbol_key(p, b[k]));
    return c ? c : (na > nb) - (na < nb);
}
int poly_order(Prover *p, Poly a, Poly b) {
    const PolyInfo *x = poly_info(p, a), *y = poly_info(p, b);
    int c = order_of(x->nmonomial, y->nmonomial);
    if (!c) c = order_of(x->degree, y->degree);
    if (!c) c = order_of(x->mask, y->mask);
    if (!c) c = variables_order(p, x->n, x->variable, y->n, y->variable);
    if (!c) c = order_of(x->digest, y->digest);
    return c ? c : order_of(a, b);
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
Poly prover_subst(Prover *p, Poly x, Map m) {
    if (!poly_mentions_any(p, x, m.n, m.from)) return x;
    Poly r = poly_subst(p->w, x, m.n, m.from, m.to);
    if (overflow_noted(p->w)) prover_fail(p, "a size exceeds 64 bits");
    return r;
}
