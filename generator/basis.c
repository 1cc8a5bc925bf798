/* basis.c -- equations as rewritings in both directions, found by the canonical code of a region.
   The search is breadth-first over terms, which are identified by their named codes. */
#include "generator/basis.h"
#include <string.h>

enum { SEARCH_MAX = 256, BASIS_ROOM = 1024 };
/* A region with this code may be replaced by y, whose variables are the region's in canonical
   order. */
typedef struct Rewriting {
    Code code;
    Term y;
    unsigned ranks;
    uint32_t next;
} Rewriting;
struct Basis {
    Space *s;
    Arena *arena;
    uint32_t n, room, *head; /* hash chains, newest rewriting first: number of a rewriting plus 1;
                                `room` chains, a power of two */
    Rewriting *v;
};

Basis *basis_new(Space *s, Arena *a) {
    Basis *b = ARENA_NEW(a, Basis, 1);
    b->s = s;
    b->arena = a;
    return b;
}

bool candidate_terms(const Space *s, const Candidate *c, int k, Term *from, Term *to) {
    Term like = {.nvar = c->nvar};
    memcpy(like.kind, c->kind, sizeof like.kind);
    return build_finish(s->form, &c->from.b, c->from.out[k], &like, from) &&
           build_finish(s->form, &c->to.b, c->to.out[k], &like, to);
}

static void link_rewriting(Basis *b, uint32_t k) {
    uint32_t *head = &b->head[(uint32_t)code_hash(&b->v[k].code) & (b->room - 1)];
    b->v[k].next = *head;
    *head = k + 1;
}
static void make_room(Basis *b) {
    if (b->n < b->room) return;
    b->room = b->room ? 2 * b->room : BASIS_ROOM;
    Rewriting *more = arena_alloc_raw(b->arena, b->room * sizeof *more);
    if (b->n) memcpy(more, b->v, b->n * sizeof *more);
    b->v = more;
    b->head = ARENA_NEW(b->arena, uint32_t, b->room);
    for (uint32_t k = 0; k < b->n; k++) link_rewriting(b, k);
}

static void add_rewriting(Basis *b, const Term *from, const Term *to, unsigned ranks) {
    Rewriting r = {.y = *to, .ranks = ranks};
    uint8_t renamed[TERM_VARS];
    if (!from->n || !term_canonical(b->s->form, from, false, &r.code, renamed)) return;
    r.y.nvar = 0;
    for (int v = 0; v < TERM_VARS; v++)
        r.y.nvar = (uint8_t)(r.y.nvar + (v < from->nvar && renamed[v] < TERM_VARS));
    for (int i = 0; i < to->n; i++)
        for (int k = 0; k < b->s->form[to->in[i].op].narg; k++) {
            Ref a = to->in[i].arg[k];
            if (ref_is_out(a)) continue;
            if (renamed[a] == TERM_VARS) return;
            r.y.in[i].arg[k] = renamed[a];
        }
    if (!ref_is_out(to->root)) {
        if (renamed[to->root] == TERM_VARS) return;
        r.y.root = renamed[to->root];
    }
    make_room(b);
    b->v[b->n] = r;
    link_rewriting(b, b->n++);
}

/* The term t with variable v replaced by variable to[v]. */
static bool identified(const Space *s, const Term *t, const Ref to[], Term *out) {
    TermBuild b = {.most = TERM_OPS};
    Ref root;
    return build_term(s->form, &b, t, to, &root) && build_finish(s->form, &b, root, t, out);
}

/* Adds the equation under every way of identifying variables of the same kind, variables from v on
   still to be decided. */
static void partitions(Basis *b, const Term *x, const Term *y, unsigned ranks, int v, Ref to[]) {
    Term p, q;
    if (v < x->nvar) {
        for (int u = 0; u < v; u++)
            if (to[u] == u && x->kind[u] == x->kind[v])
                to[v] = (Ref)u, partitions(b, x, y, ranks, v + 1, to);
        to[v] = (Ref)v;
        partitions(b, x, y, ranks, v + 1, to);
        return;
    }
    if (!identified(b->s, x, to, &p) || !identified(b->s, y, to, &q)) return;
    add_rewriting(b, &p, &q, ranks);
    add_rewriting(b, &q, &p, ranks);
}

void basis_add(Basis *b, const Term *x, const Term *y, unsigned ranks) {
    Ref to[TERM_VARS];
    partitions(b, x, y, ranks, 0, to);
}

/* ---- derivation */

uint32_t basis_count(const Basis *b) { return b->n; }

bool basis_touched(const Basis *b, uint32_t since, const BasisTrace *t) {
    for (uint32_t j = 0; j < t->n && b->n > since; j++)
        for (uint32_t k = b->head[(uint32_t)t->code[j] & (b->room - 1)]; k > since;
             k = b->v[k - 1].next)
            if (code_hash(&b->v[k - 1].code) == t->code[j]) return true;
    return false;
}

static void trace_add(BasisTrace *t, uint64_t code) {
    if (!t) return;
    ARENA_GROW(t->arena, t->code, t->room, t->n + 1);
    t->code[t->n++] = code;
}

/* A breadth-first search through the terms that rewriting makes of one. */
typedef struct TermSearch {
    const Basis *b;
    Space *s;
    BasisTrace *trace;
    BasisSearch search;
    Code target;
    int n, at;             /* number of terms; the one that is being rewritten */
    Term term[SEARCH_MAX]; /* in the order in which they were found */
    Code seen[SEARCH_MAX]; /* the named codes of these terms */
    int steps[SEARCH_MAX]; /* number of rewritings that led to each */
} TermSearch;

static bool add_term(TermSearch *d, const Term *t, int steps) {
    Code c;
    if (t->n > d->search.operators || d->n == d->search.terms ||
        !term_canonical(d->s->form, t, true, &c, NULL))
        return false;
    for (int k = 0; k < d->n; k++)
        if (code_same(&d->seen[k], &c)) return false;
    d->seen[d->n] = c;
    d->steps[d->n] = steps;
    d->term[d->n++] = *t;
    return code_same(&c, &d->target);
}

/* Rewrites one region in all ways. Returns true, which ends the search, when the target is reached
   or no further term may be added. */
static bool rewrite(void *user, const Term *t, const Region *r) {
    TermSearch *d = user;
    const Space *s = d->s;
    Code code;
    uint8_t renamed[TERM_VARS];
    Ref env[TERM_VARS];
    if (!term_canonical(s->form, &r->t, false, &code, renamed)) return false;
    memset(env, 0xff, sizeof env);
    for (int v = 0; v < r->t.nvar; v++)
        if (renamed[v] < TERM_VARS) env[renamed[v]] = r->env[v];
    uint64_t hash = code_hash(&code);
    trace_add(d->trace, hash);
    for (uint32_t k = d->b->room ? d->b->head[(uint32_t)hash & (d->b->room - 1)] : 0; k;
         k = d->b->v[k - 1].next) {
        const Rewriting *x = &d->b->v[k - 1];
        Term out;
        if ((d->search.ranks & ~x->ranks) || !code_same(&x->code, &code) ||
            !region_replace(s, t, r, &x->y, env, &out))
            continue;
        if (add_term(d, &out, d->steps[d->at] + 1) || d->n == d->search.terms) return true;
    }
    return false;
}

int basis_derive(const Basis *b, Space *s, const Term *x, const Term *y, BasisSearch search,
                 BasisTrace *trace) {
    TermSearch d = {.b = b, .s = s, .trace = trace, .search = search};
    if (search.terms > SEARCH_MAX) d.search.terms = SEARCH_MAX;
    if (!term_canonical(s->form, y, true, &d.target, NULL)) return -1;
    if (add_term(&d, x, 0)) return 0;
    for (; d.at < d.n; d.at++) {
        Term t = d.term[d.at];
        if (term_regions(s, &t, TERM_OPS + 1, rewrite, &d))
            return code_same(&d.seen[d.n - 1], &d.target) ? d.steps[d.n - 1] : -1;
    }
    return -1;
}
