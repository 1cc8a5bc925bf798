/* expr_subst.c -- substitution into expressions, and counting reads.

   Invariant: the environment (from, to) maps every symbol that is replaced at the current place.
   Entering a SUM, MAXIMUM or TAKE adds its bound variables, mapped to fresh ones; leaving removes
   them. The result for a subtree without binders depends on the environment only, so it is cached
   until the environment changes. A subtree with binders is copied for each occurrence, as each copy
   needs its own variables. */
#include "ops/core/expr_inner.h"
#include <limits.h>
#include <string.h>

typedef struct SubstMemo {
    uint32_t n, room; /* room: a power of two */
    uint32_t *key, *value;
} SubstMemo;

typedef struct Subst {
    World *w;
    int n, room;
    Symbol *from;
    Poly *to;
    const Ex *inputs;
    int ninputs;
    uint32_t replaced; /* bit k: input k is replaced by an expression with binders; bit 31: one from
                          31 on */
    SubstMemo memo;
} Subst;

static uint32_t *memo_slot(SubstMemo *m, uint32_t key) {
    uint32_t i = (key * 2654435769u) & (m->room - 1);
    while (m->key[i] && m->key[i] != key) i = (i + 1) & (m->room - 1);
    return &m->key[i];
}

static bool memo_get(SubstMemo *m, uint32_t key, uint32_t *value) {
    if (!m->room) return false;
    uint32_t *slot = memo_slot(m, key);
    *value = m->value[slot - m->key];
    return *slot != 0;
}

static void memo_put(Arena *arena, SubstMemo *m, uint32_t key, uint32_t value) {
    if (2 * (m->n + 1) > m->room) {
        SubstMemo old = *m;
        m->room = old.room ? 2 * old.room : 64;
        m->key = ARENA_NEW(arena, uint32_t, m->room);
        m->value = ARENA_NEW(arena, uint32_t, m->room);
        m->n = 0;
        for (uint32_t i = 0; i < old.room; i++)
            if (old.key[i]) memo_put(arena, m, old.key[i], old.value[i]);
    }
    uint32_t *slot = memo_slot(m, key);
    m->n += !*slot;
    *slot = key;
    m->value[slot - m->key] = value;
}

static void push_pair(Subst *s, Symbol from, Poly to) {
    int room = s->room;
    ARENA_GROW(s->w->scratch, s->from, room, s->n + 1);
    ARENA_GROW(s->w->scratch, s->to, s->room, s->n + 1);
    s->from[s->n] = from;
    s->to[s->n++] = to;
}

static Poly in_poly(Subst *s, Poly p) { return poly_subst(s->w, p, s->n, s->from, s->to); }

static void in_cond(Subst *s, Cond *c) {
    for (int i = 0; i < c->n; i++) c->v[i].p = in_poly(s, c->v[i].p);
}

static Ex subst_tree(Subst *, Ex);

/* Substitutes into a TAKE, with a fresh variable; the index (a) is outside the variable's scope. */
static Ex subst_take(Subst *s, ExNode *x) {
    int before = s->n;
    x->a = subst_tree(s, x->a);
    SubstMemo outside = s->memo;
    Symbol old = poly_is_symbol(s->w, x->dims[0]);
    x->dims[0] = poly_symbol(s->w, symbol_bound(s->w, in_poly(s, symbol_def(s->w, old).arg[0])));
    push_pair(s, old, x->dims[0]);
    s->memo = (SubstMemo){0};
    x->b = subst_tree(s, x->b);
    s->memo = outside;
    s->n = before;
    return ex_make(s->w, x);
}

/* Substitutes into a SUM or MAXIMUM, with fresh variables. Their extents may mention variables
   bound further out. */
static Ex binder(Subst *s, ExNode *x) {
    int before = s->n;
    SubstMemo outside = s->memo;
    for (int i = 0; i < x->n; i++) {
        Symbol old = poly_is_symbol(s->w, x->dims[i]);
        x->dims[i] =
            poly_symbol(s->w, symbol_bound(s->w, in_poly(s, symbol_def(s->w, old).arg[0])));
        push_pair(s, old, x->dims[i]);
    }
    s->memo = (SubstMemo){0};
    in_cond(s, &x->cond);
    x->a = subst_tree(s, x->a);
    s->memo = outside;
    s->n = before;
    return ex_make(s->w, x);
}

/* The element, at the index x->dims, of the expression that replaces an input. */
static Ex replaced(Subst *s, Ex body, const ExNode *x) {
    ArenaMark mark = arena_mark(s->w->scratch);
    Subst inner = {.w = s->w};
    for (int i = 0; i < x->n; i++) push_pair(&inner, symbol_index(s->w, (uint32_t)i), x->dims[i]);
    Ex e = subst_tree(&inner, body);
    arena_reset(s->w->scratch, mark);
    return e;
}

static Ex rebuild_expr(Subst *s, ExNode *x) {
    switch (x->kind) {
    case EX_SIZE: x->size = in_poly(s, x->size); break;
    case EX_AT:
        for (int i = 0; i < x->n; i++) x->dims[i] = in_poly(s, x->dims[i]);
        if (s->inputs && x->word < (uint32_t)s->ninputs && s->inputs[x->word])
            return replaced(s, s->inputs[x->word], x);
        break;
    case EX_SUM:
    case EX_MAXIMUM: return binder(s, x);
    case EX_TAKE: return subst_take(s, x);
    default:
        in_cond(s, &x->cond);
        for (int k = 0; k < ex_children(x->kind); k++) x->child[k] = subst_tree(s, x->child[k]);
    }
    return ex_make(s->w, x);
}

static Ex subst_tree(Subst *s, Ex e) {
    const ExRecord *r = ex_record(s->w, e);
    bool plain = !r->binds && !(r->reads & s->replaced);
    ExNode x;
    Ex result;
    if (plain && memo_get(&s->memo, e, &result)) return result;
    ex_get(s->w, e, &x);
    result = rebuild_expr(s, &x);
    if (plain) memo_put(s->w->scratch, &s->memo, e, result);
    return result;
}

Ex ex_subst(World *w, Ex e, int n, const Symbol from[], const Poly to[], const Ex *inputs,
            int ninputs) {
    ArenaMark mark = arena_mark(w->scratch);
    Subst s = {.w = w, .inputs = inputs, .ninputs = ninputs};
    for (int i = 0; i < n; i++) push_pair(&s, from[i], to[i]);
    for (int k = 0; inputs && k < ninputs; k++)
        if (inputs[k] && ex_record(w, inputs[k])->binds) s.replaced |= 1u << (k < 31 ? k : 31);
    Ex r = subst_tree(&s, e);
    arena_reset(w->scratch, mark);
    return r;
}

static int count_reads(const World *w, SubstMemo *m, Ex e, int input) {
    const ExRecord *r = ex_record(w, e);
    uint32_t known;
    if (!(r->reads >> (input < 31 ? input : 31) & 1)) return 0;
    if (r->kind == EX_AT) return r->word == (uint32_t)input;
    if (memo_get(m, e, &known)) return (int)known;
    int n = 0;
    for (int k = 0; k < ex_children((ExKind)r->kind); k++) {
        int more = count_reads(w, m, r->child[k], input);
        n = n > INT_MAX - more ? INT_MAX : n + more;
    }
    memo_put(w->scratch, m, e, (uint32_t)n);
    return n;
}

int ex_reads(const World *w, Ex e, int input) {
    ArenaMark mark = arena_mark(w->scratch);
    SubstMemo m = {0};
    int n = count_reads(w, &m, e, input);
    arena_reset(w->scratch, mark);
    return n;
}
