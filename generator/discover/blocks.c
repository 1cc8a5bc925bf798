/* blocks.c -- goals in which the result is divided into blocks of 2 to 4 positions along some axes.

   Such a goal has one position for each block, and holds the positions within a block side by side
   on an axis of channels. Three views turn it into the result. An axis of channels is one whose
   size is that of a constant's axis, because only there can a layer produce more channels. Any
   number of axes may be divided. If all axes of an image are, a single operator may replace the
   three views; goals.c finds that as well. */
#include "generator/discover/answer_inner.h"

typedef struct Blocks { /* a way to divide the result into blocks */
    Search *s;
    Type of;              /* the type of the result */
    int channels;         /* the axis of channels */
    int size[RANK_MAX];   /* length of a block along each axis; 1: the axis is not divided */
    Poly count[RANK_MAX]; /* number of blocks along an axis that is divided */
} Blocks;

static TypeId type_like(const Blocks *b, int n, const Poly dim[]) {
    Type t = b->of;
    t.dim = (Dims){.n = n};
    for (int k = 0; k < n; k++) t.dim.v[k] = dim[k];
    return type_intern(b->s->w, &t);
}

/* Adds the goal from which this view gives goal `at`. Returns its number, or -1 if the view does
   not fit or there are too many goals. */
static int put_before(Search *s, int at, const Op *op, const Poly list[], int n, TypeId in,
                      bool between) {
    if (at < 0) return -1;
    const Goal *g = &s->goals.v[at];
    const Attr attr = {.ints = {n, list}};
    const Sig sig = sig_intern(s->w, op, &attr, 1, &in, 1);
    if (count_of(s, in) < 0 || !sig_fits(s, sig) || sig_info(s->w, sig)->out[0] != g->type)
        return -1;
    const Lanes *x = goal_before(s, g, sig);
    if (!x) return -1;
    return goal_put(s, (Goal){.parent = at,
                              .sig = sig,
                              .type = in,
                              .x = x,
                              .n = count_of(s, in),
                              .axis = g->axis,
                              .between = between});
}

/* Goes back from the result: a reshape splits its axes, a transpose moves the positions of blocks
   in front of the channels, and a reshape joins them with the channels. */
static void put_blocks(const Blocks *b, int at) {
    Search *s = b->s;
    Poly apart[RANK_MAX], moved[RANK_MAX], joined[RANK_MAX], perm[RANK_MAX], *to = moved;
    int n = 0, of_axis[RANK_MAX], of_block[RANK_MAX]; /* positions in `moved` */
    for (int d = 0; d < b->of.dim.n; d++) {
        for (int j = 0; j < b->of.dim.n && d == b->channels; j++)
            if (b->size[j] > 1) of_block[j] = (int)(to - moved), *to++ = poly_int(s->w, b->size[j]);
        of_axis[d] = (int)(to - moved);
        *to++ = b->size[d] > 1 ? b->count[d] : b->of.dim.v[d];
        joined[d] = to[-1];
    }
    for (int d = 0; d < b->of.dim.n; d++) {
        apart[n] = moved[of_axis[d]];
        perm[n++] = poly_int(s->w, of_axis[d]);
        if (b->size[d] == 1) continue;
        joined[b->channels] = poly_scale(s->w, joined[b->channels], b->size[d]);
        apart[n] = poly_int(s->w, b->size[d]);
        perm[n++] = poly_int(s->w, of_block[d]);
    }
    const TypeId type_moved = type_like(b, n, moved);
    at = put_before(s, at, &op_reshape, b->of.dim.v, b->of.dim.n, type_like(b, n, apart), true);
    at = put_before(s, at, &op_transpose, perm, n, type_moved, true);
    put_before(s, at, &op_reshape, moved, n, type_like(b, b->of.dim.n, joined), false);
}

/* Whether an axis of some constant has this size, other than 1. */
static bool constant_has(Search *s, Poly size) {
    for (int k = 0; k < s->g.nin; k++) {
        const Dims t = value_type(s->w, s->g.in[k])->dim;
        for (int d = 0; d < t.n && value_is_constant(s, s->g.in[k]); d++)
            if (t.v[d] == size && !poly_is(s->w, size, 1)) return true;
    }
    return false;
}

/* Tries each axis undivided and, where possible, divided into blocks of each length, and then each
   axis of channels. */
static void put_all(Blocks *b, int axis, int divided) {
    Search *s = b->s;
    if (b->of.dim.n + divided > RANK_MAX) return;
    if (axis < b->of.dim.n) {
        const Poly size = b->of.dim.v[axis];
        for (int k = SEARCH_BLOCK_MOST; k > 1; k--) {
            if (!poly_divide(s->w, size, poly_int(s->w, k), &b->count[axis])) continue;
            s->blocks |= 1u << k;
            b->size[axis] = k;
            put_all(b, axis + 1, divided + 1);
        }
        b->size[axis] = 1;
        put_all(b, axis + 1, divided);
        return;
    }
    for (b->channels = 0; b->channels < b->of.dim.n && divided; b->channels++)
        if (b->size[b->channels] == 1 && constant_has(s, b->of.dim.v[b->channels]))
            put_blocks(b, 0);
}
void goals_in_blocks(Search *s) {
    const Goal *g = &s->goals.v[0];
    if (!s->goals.n || g->axis >= 0 || !s->bank.nconstant) return;
    Blocks b = {.s = s, .of = *type_get(s->w, g->type)};
    put_all(&b, 0, 0);
}
