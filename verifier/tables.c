/* tables.c -- what all parts of normal forms share: the tables in which they are interned, the
   names of bound variables, arithmetic on coefficients, and the variables of polynomials. */
#include "verifier/tables.h"
#include <string.h>

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
    if (n.ratio.q <= 0 || n.ratio.p == INT64_MIN) prover_fail(p, "a coefficient exceeds 64 bits");
    return n.ratio;
}
Ratio ratio_plus(Prover *p, Ratio a, Ratio b) {
    return finite(p, numbers_ratio.add((Number){.ratio = a}, (Number){.ratio = b}));
}
Ratio ratio_times(Prover *p, Ratio a, Ratio b) {
    return finite(p, numbers_ratio.mul((Number){.ratio = a}, (Number){.ratio = b}));
}

/* ---- variables of polynomials */

/* Returns whether s counts as one of the excepted variables. A floor, minimum or digit does if it
   depends on one of them. */
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
/* Returns whether a derived symbol depends on a variable that was collected before. */
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
Poly prover_subst(Prover *p, Poly x, Map m) {
    if (!poly_mentions_any(p, x, m.n, m.from)) return x;
    Poly r = poly_subst(p->w, x, m.n, m.from, m.to);
    if (overflow_noted(p->w)) prover_fail(p, "a size exceeds 64 bits");
    return r;
}
