/* rearranged.c -- explains a solved constant as elements of one of the question's constants, with
   zeros between them: the operator `select` (ops/select.c).

   If the first axis of the constant is several joined ones (the blocks of a convolution), it is
   split first. The map between indices is fitted at the small sizes. Whether it is right at other
   sizes is tried together with the answer (goal_met) and, in the end, proved. */
#include "generator/discover/answer_inner.h"
#include <string.h>

enum {
    FREE_MOST = 4, /* most columns of M that are found by trying */
    PARTS = 3,     /* most blocks that an axis is split into */
    PARTINGS = SEARCH_BLOCK_MOST * SEARCH_BLOCK_MOST * SEARCH_BLOCK_MOST /* ways to split it */
};
/* The element of y at index i is that of x at index M i + o, or 0 if that is outside x. */
typedef struct Fitted {
    int rank, from; /* ranks of y and of x */
    /* Sizes of y and of x. */
    int64_t dim[RANK_MAX], old[RANK_MAX];
    int64_t matrix[RANK_MAX][RANK_MAX], offset[RANK_MAX]; /* by axis of x, and by axis of y */
    bool known[RANK_MAX];       /* by axis of y: whether its column of M is known */
    unsigned related[RANK_MAX]; /* by axis of y: a set of axes of x */
    const int *source;          /* for each element of y: the element of x; -1: it is 0 */
    int n;
} Fitted;

/* For each element, its position in x or -1 if it is 0. Returns NULL if some element is neither 0
   nor in x, or if all are 0. */
static const int *sources(Search *s, const Lanes *c, int n, const Lanes *x, int m) {
    int *at = ARENA_NEW(s->l->arena, int, n);
    bool any = false;
    for (int k = 0; k < n; k++) {
        at[k] = -1;
        for (int j = 0; j < m && c[k].p[0] && at[k] < 0; j++)
            if (x[j].p[0] == c[k].p[0]) at[k] = j;
        if (c[k].p[0] && at[k] < 0) return NULL;
        any |= at[k] >= 0;
    }
    return any ? at : NULL;
}

static void index_of(int64_t e, int rank, const int64_t dim[], int64_t i[]) {
    for (int k = rank - 1; k >= 0; k--) i[k] = e % dim[k], e /= dim[k];
}

/* An axis of y that has size 1 at the small sizes moves along the axis of x with the same symbolic
   size, if there is one. */
static void fit_single(Search *s, Fitted *f, const Dims *y, const Dims *x) {
    for (int axis = 0; axis < f->rank; axis++) {
        f->known[axis] = f->dim[axis] == 1;
        for (int k = 0; k < f->from && f->known[axis]; k++)
            if (x->v[k] == y->v[axis] && !poly_is(s->w, x->v[k], 1)) {
                f->matrix[k][axis] = 1;
                break;
            }
    }
}

/* Fits columns of M from two adjacent elements along an axis that are both elements of x. */
static void fit_columns(Fitted *f) {
    int64_t step = 1, u[RANK_MAX], v[RANK_MAX];
    for (int axis = f->rank - 1; axis >= 0; step *= f->dim[axis--]) {
        for (int e = 0; e + step < f->n && !f->known[axis]; e++) {
            if (e / step % f->dim[axis] + 1 == f->dim[axis]) continue;
            if (f->source[e] < 0 || f->source[e + step] < 0) continue;
            index_of(f->source[e], f->from, f->old, u);
            index_of(f->source[e + step], f->from, f->old, v);
            for (int k = 0; k < f->from; k++) f->matrix[k][axis] = v[k] - u[k];
            f->known[axis] = true;
        }
    }
}

static void fit_offsets(Fitted *f) {
    int64_t i[RANK_MAX], u[RANK_MAX];
    int e = 0;
    while (f->source[e] < 0) e++;
    index_of(e, f->rank, f->dim, i);
    index_of(f->source[e], f->from, f->old, u);
    for (int k = 0; k < f->from; k++) {
        f->offset[k] = u[k];
        for (int j = 0; j < f->rank; j++) f->offset[k] -= f->matrix[k][j] * i[j];
    }
}

static bool fits_everywhere(const Fitted *f) {
    int64_t i[RANK_MAX];
    for (int e = 0; e < f->n; e++) {
        int64_t at = 0;
        bool inside = true;
        index_of(e, f->rank, f->dim, i);
        for (int k = 0; k < f->from; k++) {
            int64_t v = f->offset[k];
            for (int j = 0; j < f->rank; j++) v += f->matrix[k][j] * i[j];
            inside &= v >= 0 && v < f->old[k];
            at = at * f->old[k] + v;
        }
        if (inside ? f->source[e] != at : f->source[e] >= 0) return false;
    }
    return true;
}

/* For each axis of y, finds the axes of x whose sizes occur in its size. */
static void find_related(Search *s, Fitted *f, const Dims *y, const Dims *x) {
    for (int axis = 0; axis < f->rank; axis++)
        for (int k = 0; k < f->from; k++) {
            const Symbol size = poly_is_symbol(s->w, x->v[k]);
            if (size && poly_mentions(s->w, y->v[axis], size)) f->related[axis] |= 1u << k;
        }
}

/* Tries the columns that no adjacent elements show: a step of one position forward or back along
   one axis of x, or none. strict: only along axes of x whose size occurs in that of y's axis, if
   there are any. */
static bool fit_rest(Fitted *f, int axis, int free, bool strict) {
    while (axis < f->rank && f->known[axis]) axis++;
    if (axis == f->rank) return fit_offsets(f), fits_everywhere(f);
    if (!free) return false;
    const unsigned only = strict && f->related[axis] ? f->related[axis] : ~0u;
    for (int k = 0; k <= 2 * f->from; k++) {
        if (!(only >> k / 2 & 1)) continue;
        for (int j = 0; j < f->from; j++) f->matrix[j][axis] = 0;
        if (k < 2 * f->from) f->matrix[k / 2][axis] = k % 2 ? 1 : -1;
        if (fit_rest(f, axis + 1, free - 1, strict)) return true;
    }
    return false;
}

/* Writes an offset that is a size of an input, or one less, as that size. */
static Poly offset_of(Search *s, int64_t number) {
    int64_t size;
    for (int less = 0; less < 2 && number; less++)
        for (int k = 0; k < s->g.nin; k++) {
            const Dims x = value_type(s->w, s->g.in[k])->dim;
            for (int d = 0; d < x.n; d++) {
                if (!poly_is_symbol(s->w, x.v[d]) || !poly_eval(s->w, x.v[d], s->small, &size))
                    continue;
                const Poly p = poly_sub(s->w, x.v[d], poly_int(s->w, less));
                if (number == size - less) return p;
                if (number == less - size) return poly_scale(s->w, p, -1);
            }
        }
    return poly_int(s->w, number);
}

static Value written(Search *s, const Fitted *f, Value x, const Dims *parts, const Type *type) {
    const AttrDef *defs = op_select.attrs;
    Attr attr[ATTRS_MAX] = {0};
    const char *why;
    Poly *matrix = ARENA_NEW(s->a, Poly, f->from * f->rank),
         *offset = ARENA_NEW(s->a, Poly, f->from);
    for (int k = 0; k < f->from; k++) {
        offset[k] = offset_of(s, f->offset[k]);
        for (int j = 0; j < f->rank; j++) matrix[k * f->rank + j] = poly_int(s->w, f->matrix[k][j]);
    }
    attr[attrs_find(defs, "matrix")].ints = (PolyList){f->from * f->rank, matrix};
    attr[attrs_find(defs, "offsets")].ints = (PolyList){f->from, offset};
    attr[attrs_find(defs, "shape")].ints = (PolyList){parts->n, parts->v};
    Value v = node_make(s->w, &op_select, attr, 1, &x, 1, &why);
    if (!v || parts->n == type->dim.n) return v;
    Attr shape = {.ints = {type->dim.n, type->dim.v}};
    return node_make(s->w, &op_reshape, &shape, 1, &v, 1, &why);
}

/* The axes of y with the first one split: blocks of 2 to 4 positions, given by the digits of `code`
   from the last one on up to a 0, in front of what remains or (last) after it. Returns false if the
   axis cannot be split in this way. */
static bool parts_of(Search *s, const Type *type, int code, bool last, Dims *parts) {
    Poly rest = type->dim.v[0], block[PARTS];
    int n = 0;
    for (; code % SEARCH_BLOCK_MOST; code /= SEARCH_BLOCK_MOST) {
        block[n] = poly_int(s->w, 1 + code % SEARCH_BLOCK_MOST);
        if (!poly_divide(s->w, rest, block[n++], &rest)) return false;
    }
    *parts = (Dims){.n = 0};
    if (code || type->dim.n + n > RANK_MAX) return false;
    if (last) parts->v[parts->n++] = rest;
    while (n) parts->v[parts->n++] = block[--n];
    if (!last) parts->v[parts->n++] = rest;
    for (int k = 1; k < type->dim.n; k++) parts->v[parts->n++] = type->dim.v[k];
    return true;
}

static bool numbers_of(Search *s, const Dims *dims, int64_t out[]) {
    for (int k = 0; k < dims->n; k++)
        if (!poly_eval(s->w, dims->v[k], s->small, &out[k])) return false;
    return true;
}

Value constant_rearranged(Search *s, TypeId id, const Lanes *c) {
    const Type *type = type_get(s->w, id);
    const int n = count_of(s, id);
    for (int k = 0; k < s->g.nin; k++) {
        const Value x = s->g.in[k];
        const Type *t = value_type(s->w, x);
        const Lanes *v = value_is_constant(s, x) ? value_at(s, x) : NULL;
        if (!v || t->dtype != type->dtype || !t->dim.n || !type->dim.n) continue;
        const int *source = sources(s, c, n, v, count_of(s, value_type_id(s->w, x)));
        for (int split = 2 * PARTINGS - 1; source && split >= 0; split--) {
            Fitted f = {.from = t->dim.n, .source = source, .n = n};
            Dims parts;
            if (!parts_of(s, type, split / 2, split % 2 == 0, &parts)) continue;
            f.rank = parts.n;
            if (!numbers_of(s, &parts, f.dim) || !numbers_of(s, &t->dim, f.old)) continue;
            find_related(s, &f, &parts, &t->dim);
            fit_single(s, &f, &parts, &t->dim);
            fit_columns(&f);
            if (fit_rest(&f, 0, FREE_MOST, true) || fit_rest(&f, 0, FREE_MOST, false))
                return written(s, &f, x, &parts, type);
        }
    }
    return 0;
}
