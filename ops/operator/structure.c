/* structure.c -- reads off the tree of a definition how many operations it takes, and whether it is
   a view, element-wise or a reduction. */
#include "ops/operator/signature.h"
#include <stdlib.h>

/* Counts operations. Each distinct subexpression is computed once for all values of the variables
   (output indices and bound variables) that it mentions: the sum in a softmax once per row, not
   once per element. */
enum { NODES_FIRST = 64, VARIABLES_MAX = 64 };
/* The expressions that were counted, with the variables that they mention, in a hash table. */
typedef struct Counted {
    uint32_t n, room; /* room: a power of two, more than n */
    Ex *node;         /* 0: a free place */
    uint64_t *mask;
} Counted;
typedef struct Count {
    World *w;
    Sizes sizes;
    int nvar;
    Symbol var[VARIABLES_MAX];
    double extent[VARIABLES_MAX];
    Counted counted; /* in the world's scratch memory */
    double total;
    bool unknown; /* a size has no value */
} Count;

static uint32_t place_of(const Counted *c, Ex x) {
    uint32_t i = (uint32_t)x * 2654435769u & (c->room - 1);
    while (c->node[i] && c->node[i] != x) i = (i + 1) & (c->room - 1);
    return i;
}
static bool was_counted(const Count *c, Ex x, uint64_t *mask) {
    if (!c->counted.room) return false;
    const uint32_t i = place_of(&c->counted, x);
    *mask = c->counted.mask[i];
    return c->counted.node[i] != 0;
}
static void remember(Count *c, Ex x, uint64_t mask) {
    Counted *t = &c->counted, old = *t;
    if (2 * (t->n + 1) > t->room) {
        t->room = old.room ? 2 * old.room : NODES_FIRST;
        t->node = ARENA_NEW(c->w->scratch, Ex, t->room);
        t->mask = ARENA_NEW(c->w->scratch, uint64_t, t->room), t->n = 0;
        for (uint32_t i = 0; i < old.room; i++)
            if (old.node[i]) remember(c, old.node[i], old.mask[i]);
    }
    const uint32_t i = place_of(t, x);
    t->node[i] = x, t->mask[i] = mask, t->n++;
}

/* The position of s among the variables, to which it is added unless another sum has it already.
   -1: there are too many variables, or the extent is not known. */
static int count_variable(Count *c, Symbol s, Poly extent) {
    int64_t n;
    for (int k = 0; k < c->nvar; k++)
        if (c->var[k] == s) return k;
    if (c->nvar == VARIABLES_MAX || !poly_eval(c->w, extent, c->sizes, &n)) {
        c->unknown = true;
        return -1;
    }
    c->var[c->nvar] = s;
    c->extent[c->nvar] = (double)n;
    return c->nvar++;
}
static uint64_t mentions(const Count *c, Poly p) {
    uint64_t mask = 0;
    for (int k = 0; k < c->nvar; k++)
        if (poly_mentions(c->w, p, c->var[k])) mask |= 1ull << k;
    return mask;
}
static double repeats(const Count *c, uint64_t mask) {
    double times = 1;
    for (int k = 0; k < c->nvar; k++)
        if (mask >> k & 1) times *= c->extent[k];
    return times;
}
static bool is_operation(const Count *c, const ExNode *e) {
    switch (e->kind) {
    case EX_ADD:
    case EX_MAX2:
    case EX_MIN2:
    case EX_POW:
    case EX_FN:
    case EX_SUM:
    case EX_MAXIMUM: return true;
    case EX_MUL: return !ex_is(c->w, e->a, -1) && !ex_is(c->w, e->b, -1);
    default: return false;
    }
}
/* Reduces the extent of a variable v by conditions. If p >= 0 and q >= 0, where p changes by s with
   each step of v and p + q does not depend on v, then p lies in 0..p + q, which is true for at most
   (p + q) / |s| + 1 values of v. In a transposed convolution, these are the places that a kernel
   covers. */
static void narrow_extent(Count *c, int var, const Cond *cond) {
    World *w = c->w;
    const Symbol v = c->var[var];
    const Poly next = poly_add(w, poly_symbol(w, v), poly_int(w, 1));
    int64_t range, step;
    for (int j = 0; j < cond->n; j++)
        for (int k = 0; k < j; k++) {
            const Poly p = cond->v[j].p, both = poly_add(w, p, cond->v[k].p);
            if (cond->v[j].eq || cond->v[k].eq || !poly_mentions(w, p, v)) continue;
            const Poly by = poly_sub(w, poly_subst(w, p, 1, &v, &next), p);
            if (!poly_eval(w, both, c->sizes, &range) || range < 0) continue;
            if (!poly_eval(w, by, c->sizes, &step) || !step) continue;
            const int64_t most = range / llabs(step) + 1;
            if ((double)most < c->extent[var]) c->extent[var] = (double)most;
        }
}
static uint64_t count_node(Count *c, Ex x) {
    if (!x) return 0;
    uint64_t mask = 0, own = 0; /* own: the variables bound here, but not by a TAKE: it has one
                                   value, so there is no loop over the body */
    if (was_counted(c, x, &mask)) return mask;
    ExNode e;
    ex_get(c->w, x, &e);
    bool binds = e.kind == EX_SUM || e.kind == EX_MAXIMUM;
    int first = c->nvar;
    for (int k = 0; binds && k < e.n; k++) {
        const Symbol s = poly_is_symbol(c->w, e.dims[k]);
        const int at = count_variable(c, s, symbol_def(c->w, s).arg[0]);
        if (at >= 0) own |= 1ull << at;
    }
    for (int k = first; binds && k < c->nvar; k++) narrow_extent(c, k, &e.cond);
    for (int k = 0; k < ex_children(e.kind); k++) mask |= count_node(c, e.child[k]);
    if (e.kind == EX_SIZE) mask |= mentions(c, e.size);
    for (int k = 0; e.kind == EX_AT && k < e.n; k++) mask |= mentions(c, e.dims[k]);
    for (int k = 0; (binds || e.kind == EX_IF) && k < e.cond.n; k++)
        mask |= mentions(c, e.cond.v[k].p);
    if (is_operation(c, &e)) c->total += repeats(c, mask | own);
    mask &= ~own;
    remember(c, x, mask);
    return mask;
}

double sig_flops(World *w, Sig sig, Sizes sizes) {
    const SigInfo *info = sig_info(w, sig);
    const ArenaMark mark = arena_mark(w->scratch);
    double total = 0;
    bool unknown = false;
    for (int j = 0; !info->why && j < info->nout; j++) {
        const Type *y = type_get(w, info->out[j]);
        Count c = {.w = w, .sizes = sizes};
        Ex define = sig_define(w, sig, j);
        if (!y->known || info->op->flags & OP_NO_COST) continue;
        for (int a = 0; a < y->dim.n; a++)
            count_variable(&c, symbol_index(w, (uint32_t)a), y->dim.v[a]);
        if (define) count_node(&c, define);
        else c.total = repeats(&c, ~0ull >> (VARIABLES_MAX - 1 - c.nvar) >> 1);
        unknown |= c.unknown && c.total > 0; /* 0 operations are 0 at all sizes */
        total += c.total;
    }
    arena_reset(w->scratch, mark);
    return unknown ? -1 : total;
}

double sig_work(World *w, Sig sig, Sizes sizes) {
    const SigInfo *info = sig_info(w, sig);
    int64_t n;
    if (info->why || !info->op->work) return sig_flops(w, sig, sizes);
    Call c = sig_call(w, sig, NULL);
    const Overflow overflow = overflow_begin(w);
    const Poly work = info->op->work(&c);
    return !overflow_end(w, overflow) && poly_eval(w, work, sizes, &n) ? (double)n : -1;
}

static bool mentions_index(World *w, Poly p) {
    for (uint32_t a = 0; a < RANK_MAX; a++)
        if (poly_mentions(w, p, symbol_index(w, a))) return true;
    return false;
}
/* Whether p is affine in the output indices: each monomial has at most one of them, and no computed
   symbol (digit, floor, min) mentions one. */
static bool is_affine(World *w, Poly p) {
    Monomial m;
    for (PolyScan s = poly_scan(w, p); poly_next(&s, &m);) {
        int indices = 0;
        for (uint32_t k = 0; k < m.degree; k++) {
            bool index = symbol_def(w, m.symbol[k]).kind == SYM_INDEX;
            if (!index && mentions_index(w, poly_symbol(w, m.symbol[k]))) return false;
            indices += index;
        }
        if (indices > 1) return false;
    }
    return true;
}
static bool all_dims(World *w, const ExNode *e, bool (*good)(World *, Poly)) {
    for (int k = 0; k < e->n; k++)
        if (!good(w, e->dims[k])) return false;
    return true;
}
static bool is_plain(World *w, Poly p) { return p == 0 || poly_is_symbol(w, p); }

static bool is_elementwise(Count *c, Ex x) {
    World *w = c->w;
    ExNode e;
    uint64_t mask;
    bool is = false;
    if (was_counted(c, x, &mask)) return true;
    ex_get(w, x, &e);
    switch (e.kind) {
    case EX_AT: is = all_dims(w, &e, is_plain) && all_dims(w, &e, is_affine); break;
    case EX_ADD:
    case EX_MUL:
    case EX_MAX2:
    case EX_MIN2:
    case EX_POW: is = is_elementwise(c, e.a) && is_elementwise(c, e.b); break;
    case EX_FN: is = is_elementwise(c, e.a); break;
    case EX_SIZE: is = !mentions_index(w, e.size); break;
    case EX_NUM:
    case EX_REAL:
    case EX_PARAM: is = true; break;
    default: break;
    }
    if (is) remember(c, x, 0);
    return is;
}

/* Removes a factor that is a number, a size or the reciprocal of one. */
static Ex unscaled(World *w, Ex x) {
    ExNode e, f;
    ex_get(w, x, &e);
    if (e.kind != EX_MUL) return x;
    for (int side = 0; side < 2; side++) {
        Ex scale = side ? e.b : e.a;
        ex_get(w, scale, &f);
        if (f.kind == EX_FN && f.word == FN_RECIP) ex_get(w, f.a, &f);
        if (f.kind == EX_NUM || f.kind == EX_SIZE) return side ? e.a : e.b;
    }
    return x;
}
static bool is_reduction(World *w, Ex x) {
    ExNode e;
    ex_get(w, unscaled(w, x), &e);
    if ((e.kind != EX_SUM && e.kind != EX_MAXIMUM) || e.cond.n) return false;
    ex_get(w, unscaled(w, e.a), &e);
    return e.kind == EX_AT && all_dims(w, &e, is_plain);
}

/* If the entries of an index from `from` on are all digits of one number, in order (axes of size 1
   do not count), returns how many entries these are, and the number in *number; else 0. */
static int digit_run(World *w, const ExNode *at, const Dims *x, int from, Poly *number) {
    Symbol s = poly_is_symbol(w, at->dims[from]);
    SymbolDef d = s ? symbol_def(w, s) : (SymbolDef){.kind = SYM_INDEX};
    if (d.kind != SYM_DIGIT || d.word != 0) return 0;
    uint32_t digit = 0;
    int k = from;
    for (; k < at->n && digit + 1 < d.narg; k++) {
        if (x->v[k] == poly_int(w, 1)) continue;
        if (x->v[k] != d.arg[digit + 1] ||
            at->dims[k] != poly_digit(w, d.arg[0], d.arg + 1, (int)d.narg - 1, (int)digit))
            return 0;
        digit++;
    }
    *number = d.arg[0];
    return digit + 1 == d.narg ? k - from : 0;
}
/* Whether the row-major position that is read in x equals the row-major position of the output
   index in y. */
static bool same_order(World *w, const ExNode *at, const Dims *x, const Dims *y) {
    Poly in = 0, out = 0, number;
    Symbol single[RANK_MAX]; /* indices along axes of size 1, which are 0 however they are
                                written */
    Poly zero[RANK_MAX] = {0};
    int nsingle = 0;
    for (int a = 0; a < y->n; a++) {
        Symbol i = symbol_index(w, (uint32_t)a);
        bool one = y->v[a] == poly_int(w, 1);
        if (one) single[nsingle++] = i;
        out = poly_add(w, poly_mul(w, out, y->v[a]), one ? 0 : poly_symbol(w, i));
    }
    for (int k = 0; k < at->n;) {
        int run = digit_run(w, at, x, k, &number), end = k + (run ? run : 1);
        if (!run) number = at->dims[k];
        for (; k < end; k++) in = poly_mul(w, in, x->v[k]);
        in = poly_add(w, in, number);
    }
    return poly_subst(w, in, nsingle, single, zero) == out;
}
SigKind sig_kind(World *w, Sig sig, int port) {
    Ex define = sig_define(w, sig, port);
    const SigInfo *info = sig_info(w, sig);
    ExNode e;
    if (!define) return SIG_OTHER;
    ex_get(w, define, &e);
    if (e.kind == EX_AT) {
        if (type_get(w, info->in[e.word])->dtype != type_get(w, info->out[port])->dtype)
            return SIG_ELEMENTWISE; /* it converts the element type */
        if (all_dims(w, &e, is_affine)) return SIG_VIEW;
        if (e.word == 0 &&
            same_order(w, &e, &type_get(w, info->in[0])->dim, &type_get(w, info->out[port])->dim))
            return SIG_RESHAPE;
        return SIG_OTHER;
    }
    const ArenaMark mark = arena_mark(w->scratch);
    const bool elementwise = is_elementwise(&(Count){.w = w}, define);
    arena_reset(w->scratch, mark);
    if (elementwise) return SIG_ELEMENTWISE;
    return is_reduction(w, define) ? SIG_REDUCTION : SIG_OTHER;
}
