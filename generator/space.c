/* space.c -- decides whether an operator of the set accepts given arguments, and which types its
   results have.

   The operator's shape() is asked once for each combination of arguments, and the answer is kept.
   Equations among its needs must hold as polynomials, that is for all sizes. An unknown without a
   choice follows from the first equation that is linear in it. */
#include "generator/space.h"
#include "generator/program.h"
#include "generator/values.h"
#include "ops/operator/value.h"
#include <math.h>
#include <string.h>

const ShapeInfo *space_shape(const Space *s, ShapeId id) { return &s->shape[id - 1]; }

int space_kind_of(const Space *s, ShapeId shape) {
    for (int k = 0; k < s->nkind; k++)
        if (s->kind[k].shape == shape) return k;
    return -1;
}

Sizes space_sizes(const Space *s, int stage) {
    uint32_t n = intern_count(s->w->table[TABLE_SYMBOL]) + 1;
    int64_t *v = arena_alloc(s->w->scratch, n * sizeof *v);
    for (uint32_t k = 0; k < n; k++) v[k] = SIZE_UNKNOWN;
    for (int k = 0; k < s->nsize; k++) v[s->size[k]] = s->value[stage][k];
    return (Sizes){n, v};
}

static int stage_elements(const Space *s, const Type *t, int stage) {
    ArenaMark mark = arena_mark(s->w->scratch);
    Sizes sizes = space_sizes(s, stage);
    int64_t count = 1, d;
    for (int k = 0; k < t->dim.n && count; k++) {
        bool known = poly_eval(s->w, t->dim.v[k], sizes, &d);
        count = known && d > 0 && d <= ELEMENTS_MAX ? count * d : 0;
        if (count > ELEMENTS_MAX) count = 0;
    }
    arena_reset(s->w->scratch, mark);
    return (int)count;
}

static uint64_t shape_hash(const Space *s, int sort, const Type *t) {
    Text text = text_new(s->arena);
    text_add(&text, "%s ", s->sort[sort]);
    type_print(s->w, t, &text);
    return hash_bytes(text.data, text.size);
}

ShapeId space_shape_put(Space *s, int sort, TypeId type) {
    for (int k = 0; k < s->nshape; k++)
        if (s->shape[k].type == type && s->shape[k].sort == sort) return (ShapeId)(k + 1);
    const Type *t = type_get(s->w, type);
    ShapeInfo i = {.sort = sort, .type = type, .hash = shape_hash(s, sort, t)};
    for (int stage = 0; stage < s->nstage; stage++)
        if (!(i.count[stage] = stage_elements(s, t, stage))) return 0;
    ARENA_GROW(s->arena, s->shape, s->shape_room, s->nshape + 1);
    s->shape[s->nshape++] = i;
    return (ShapeId)s->nshape;
}

/* ---- one operator on arguments */

enum { LETTERS = 128 }; /* Variant.sort has minus the code of the letter where any sort may stand */

static bool sorts_fit(const Space *s, const Variant *v, int narg, const ShapeId arg[],
                      int bound[]) {
    for (int k = 0; k < LETTERS; k++) bound[k] = -1;
    for (int k = 0; k < narg; k++) {
        int have = space_shape(s, arg[k])->sort, *any = v->sort[k] < 0 ? &bound[-v->sort[k]] : NULL;
        if (any && *any < 0) *any = have;
        if (have != (any ? *any : v->sort[k])) return false;
    }
    return true;
}

static void fill_defaults(Space *s, const Variant *v, const ShapeId arg[], int narg, Attr attr[]) {
    int rank = narg ? type_get(s->w, space_shape(s, arg[0])->type)->dim.n : 0;
    for (int k = 0; k < attrs_count(v->op->attrs); k++)
        if (!v->given[k]) attr_default(s->w, &v->op->attrs[k], rank, &attr[k]);
}

/* Solves the first equation that is linear in the unknown. Returns true with the solution in *x if
   there is one. */
static bool solve_need(World *w, const SigInfo *i, Symbol unknown, Poly *x) {
    for (int k = 0; k < i->nneed; k++) {
        Poly p = i->need[k].p, with_one, rest, slope;
        if (!i->need[k].eq || !poly_has(w, p, unknown)) continue;
        rest = poly_subst(w, p, 1, &unknown, &(Poly){0});
        with_one = poly_subst(w, p, 1, &unknown, &(Poly){poly_int(w, 1)});
        slope = poly_sub(w, with_one, rest);
        if (poly_mentions(w, slope, unknown) || !slope) continue;
        if (poly_divide(w, poly_scale(w, rest, -1), slope, x)) return true;
    }
    return false;
}

static Sig variant_signature(Space *s, const Variant *v, int narg, const ShapeId arg[], int nout) {
    Attr attr[ATTRS_MAX];
    TypeId in[TERM_ARGS] = {0};
    memcpy(attr, v->attr, sizeof attr);
    fill_defaults(s, v, arg, narg, attr);
    for (int k = 0; k < narg; k++) in[k] = space_shape(s, arg[k])->type;
    Sig sig = sig_intern(s->w, v->op, attr, narg, in, nout);
    for (int k = 0; k < v->nfree; k++) {
        Poly x;
        if (v->chosen[k]) continue;
        if (sig_info(s->w, sig)->why || !solve_need(s->w, sig_info(s->w, sig), v->free[k], &x))
            return 0;
        if (!value_natural(s->w, x) || !x)
            return 0; /* the unknown must be a size, natural whatever the sizes are, and not 0 */
        for (int j = 0; j < attrs_count(v->op->attrs); j++) {
            Poly *list = ARENA_NEW(s->arena, Poly, attr[j].ints.n);
            for (int i = 0; i < attr[j].ints.n; i++)
                list[i] = poly_subst(s->w, attr[j].ints.v[i], 1, &v->free[k], &x);
            attr[j].ints.v = list;
        }
        sig = sig_intern(s->w, v->op, attr, narg, in, nout);
    }
    return sig;
}

/* Whether the needs hold: equations as polynomials, inequalities for all sizes or at least at every
   stage. */
static bool needs_hold(Space *s, const SigInfo *i) {
    for (int k = 0; k < i->nneed; k++) {
        Lit l = i->need[k];
        if (l.eq ? l.p == 0 : value_decide(s->w, l) == 1) continue;
        if (l.eq) return false;
        for (int stage = 0; stage < s->nstage; stage++) {
            int64_t v;
            ArenaMark mark = arena_mark(s->w->scratch);
            bool known = poly_eval(s->w, l.p, space_sizes(s, stage), &v);
            arena_reset(s->w->scratch, mark);
            if (!known || v < 0) return false;
        }
    }
    return true;
}

static Typing *type_new(Space *s, int op, const ShapeId arg[]) {
    const Variant *v = &s->op[op];
    const OpForm *f = &s->form[op];
    int bound[LETTERS];
    if (!sorts_fit(s, v, f->narg, arg, bound)) return NULL;
    Sig sig = variant_signature(s, v, f->narg, arg, f->nout);
    const SigInfo *i = sig ? sig_info(s->w, sig) : NULL;
    if (!i || i->why || i->nout != f->nout || !needs_hold(s, i)) return NULL;
    Typing *t = ARENA_NEW(s->arena, Typing, 1);
    t->sig = sig;
    t->nout = f->nout;
    for (int k = 0; k < f->nout; k++) {
        int sort = v->result[k] < 0 ? bound[-v->result[k]] : v->result[k];
        if (sort < 0 || !type_get(s->w, i->out[k])->known) return NULL;
        if (!(t->out[k] = space_shape_put(s, sort, i->out[k]))) return NULL;
    }
    return t;
}

static TypingEntry *typing_slot(const Space *s, uint64_t key) {
    uint64_t mask = (uint64_t)s->typing_room - 1, at = (key * 0x9e3779b97f4a7c15ull >> 20) & mask;
    while (s->typing[at].key && s->typing[at].key != key) at = (at + 1) & mask;
    return &s->typing[at];
}

static void typing_grow(Space *s) {
    TypingEntry *old = s->typing;
    int n = s->typing_room;
    s->typing_room = n ? 2 * n : 1 << 14;
    s->typing = ARENA_NEW(s->arena, TypingEntry, s->typing_room);
    for (int k = 0; k < n; k++)
        if (old[k].key) *typing_slot(s, old[k].key) = old[k];
}

Typing *space_type(Space *s, int op, const ShapeId arg[]) {
    uint64_t key = 1 + (uint64_t)op;
    for (int k = 0; k < s->form[op].narg; k++) key |= (uint64_t)arg[k] << (16 + 16 * k);
    if (2 * s->ntyping >= s->typing_room) typing_grow(s);
    TypingEntry *e = typing_slot(s, key);
    if (e->key) return e->typing;
    Typing *t = type_new(s, op, arg);
    s->ntyping++;
    *e = (TypingEntry){key, t};
    return t;
}

bool space_type_term(Space *s, const Term *t, ShapeId shape[REF_OUT + 2 * TERM_OPS]) {
    for (int v = 0; v < t->nvar; v++) shape[v] = s->kind[t->kind[v]].shape;
    for (int i = 0; i < t->n; i++) {
        ShapeId arg[TERM_ARGS] = {0};
        for (int k = 0; k < s->form[t->in[i].op].narg; k++) arg[k] = shape[t->in[i].arg[k]];
        const Typing *y = space_type(s, t->in[i].op, arg);
        for (int p = 0; p < TERM_PORTS; p++)
            shape[ref_out(i, p)] = y && p < y->nout ? y->out[p] : 0;
        if (!y) return false;
    }
    return true;
}

/* ---- what values need */

typedef struct Traits {
    bool typed, calls; /* it accepts some arguments; its definition calls a function */
    double most;       /* the greatest magnitude of a number that its definition compares with */
} Traits;
static void note_compared(const World *w, Ex e, double *most) {
    ExNode n;
    double value;
    ex_get(w, e, &n);
    for (int k = 0; k < ex_children(n.kind); k++) {
        if (!n.child[k]) continue;
        const bool compared = n.kind == EX_MAX2 || n.kind == EX_MIN2;
        if (compared && ex_number(w, n.child[k], &value)) *most = fmax(*most, fabs(value));
        note_compared(w, n.child[k], most);
    }
}
/* Goes through all combinations of declared inputs as arguments from k on. */
static void note_traits(Space *s, int op, int k, ShapeId arg[], Traits *x) {
    if (k < s->form[op].narg) {
        for (int kind = 0; kind < s->nkind; kind++) {
            arg[k] = s->kind[kind].shape;
            note_traits(s, op, k + 1, arg, x);
        }
        return;
    }
    Typing *t = space_type(s, op, arg);
    if (!t) return;
    ArenaMark mark = arena_mark(s->w->scratch);
    const Program *p = x->calls ? NULL : program_new(s->w, s->arena, t->sig, 0, space_sizes(s, 0));
    arena_reset(s->w->scratch, mark);
    x->calls |= !p || p->calls;
    if (!x->typed)
        for (int port = 0; port < t->nout; port++)
            note_compared(s->w, sig_define(s->w, t->sig, port), &x->most);
    x->typed = true;
}

void space_find_traits(Space *s) {
    enum { REACH_MAX = 64 };
    ShapeId arg[TERM_ARGS] = {0};
    double most = 0;
    for (int op = 0; op < s->nop; op++) {
        Traits x = {0};
        note_traits(s, op, 0, arg, &x);
        s->exponents |= x.calls || !x.typed;
        most = fmax(most, x.most);
    }
    for (s->reach = LANES_REACH; s->reach < most && s->reach < REACH_MAX;) s->reach *= 2;
}
