/* view.c -- arithmetic on views, and gathering the elements of a view. */
#include "ops/backend/view.h"
#include <stdlib.h>
#include <string.h>

int64_t view_count(const View *v) {
    int64_t n = 1;
    for (int k = 0; k < v->rank; k++) n *= v->dim[k];
    return n;
}

void view_extent(const View *v, int64_t *low, int64_t *high) {
    int64_t first = v->offset, last = v->offset;
    for (int a = 0; a < v->rank; a++) {
        const int64_t reach = (v->dim[a] - 1) * v->stride[a];
        first += reach < 0 ? reach : 0, last += reach > 0 ? reach : 0;
    }
    *low = first, *high = last + 1;
    if (view_count(v) == 0) *low = *high = v->offset;
}

bool view_same(const View *a, const View *b) {
    if (a->slot != b->slot || a->offset != b->offset || a->rank != b->rank ||
        a->format != b->format || a->dtype != b->dtype)
        return false;
    for (int k = 0; k < a->rank; k++)
        if (a->dim[k] != b->dim[k] || (a->dim[k] > 1 && a->stride[k] != b->stride[k])) return false;
    return true;
}

bool view_is_dense(const View *v) {
    int64_t stride = 1;
    for (int k = v->rank - 1; k >= 0; k--) {
        if (v->dim[k] > 1 && v->stride[k] != stride) return false;
        stride *= v->dim[k];
    }
    return true;
}

bool view_gapless(const View *v) { return v->format == 0 && view_is_dense(v); }

View view_dense(int32_t slot, int32_t dtype, int rank, const int64_t dim[]) {
    View v = {.slot = slot, .dtype = dtype, .rank = rank};
    int64_t stride = 1;
    for (int k = rank - 1; k >= 0; k--) {
        v.dim[k] = dim[k];
        v.stride[k] = stride;
        stride *= dim[k];
    }
    return v;
}

View view_axes(const View *v, int n, const int axis[]) {
    View y = {
        .slot = v->slot, .dtype = v->dtype, .rank = n, .format = v->format, .offset = v->offset};
    for (int k = 0; k < n; k++) {
        y.dim[k] = v->dim[axis[k]];
        y.stride[k] = v->stride[axis[k]];
    }
    return y;
}

View view_narrow(const View *v) {
    View y = *v;
    y.rank = 0;
    for (int a = 0; a < v->rank; a++)
        if (v->dim[a] != 1) y.dim[y.rank] = v->dim[a], y.stride[y.rank++] = v->stride[a];
    return y;
}

View view_part(const View *v, int axis, int64_t from, int64_t size) {
    View y = *v;
    y.offset += from * y.stride[axis];
    y.dim[axis] = size;
    return y;
}

View view_split(const View *v, int axis, int64_t size) {
    View y = *v;
    for (int k = y.rank++; k > axis + 1; k--)
        y.dim[k] = y.dim[k - 1], y.stride[k] = y.stride[k - 1];
    y.dim[axis] = v->dim[axis] / size, y.dim[axis + 1] = size;
    y.stride[axis] = v->stride[axis] * size, y.stride[axis + 1] = v->stride[axis];
    return y;
}

View view_spread(const View *v, int rank, const int64_t dim[]) {
    View y = {
        .slot = v->slot, .dtype = v->dtype, .rank = rank, .format = v->format, .offset = v->offset};
    int more = rank - v->rank;
    for (int k = 0; k < rank; k++) {
        bool repeats = k < more || v->dim[k - more] != dim[k];
        y.dim[k] = dim[k];
        y.stride[k] = repeats ? 0 : v->stride[k - more];
    }
    return y;
}

/* ---- reading */

typedef struct StridedRun { /* n elements, and the distance from one to the next in the output (to)
                        and in the input (from) */
    int64_t n, to, from;
} StridedRun;

/* Inlined with constant sizes, so that copying an element is one load and one store. */
static inline void read_elements(size_t size, StridedRun r, char *out, const char *in) {
    for (int64_t i = 0; i < r.n; i++)
        memcpy(out + i * r.to * (int64_t)size, in + i * r.from * (int64_t)size, size);
}
static void read_run(size_t size, StridedRun r, char *out, const char *in) {
    if (r.to == 1 && r.from == 1) memcpy(out, in, (size_t)r.n * size);
    else if (size == 1) read_elements(1, r, out, in);
    else if (size == 2) read_elements(2, r, out, in);
    else if (size == 4) read_elements(4, r, out, in);
    else if (size == 8) read_elements(8, r, out, in);
    else read_elements(size, r, out, in);
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Copies the last axis and another one in tiles. All of a cache line that a tile touches is then
   used, and much of each page; otherwise a column of a large matrix costs one address translation
   per element. */
static void read_plane(size_t size, StridedRun last, StridedRun other, char *out, const char *in) {
    enum { TILE = 128 };
    for (int64_t j = 0; j < other.n; j += TILE)
        for (int64_t i = 0; i < last.n; i += TILE)
            for (int64_t k = j; k < least(j + TILE, other.n); k++)
                read_run(size, (StridedRun){least(TILE, last.n - i), last.to, last.from},
                         out + (k * other.to + i * last.to) * (int64_t)size,
                         in + (k * other.from + i * last.from) * (int64_t)size);
}

void view_gather(const View *v, const void *slot, size_t size, void *out) {
    const View to = view_dense(0, v->dtype, v->rank, v->dim);
    const int last = v->rank - 1;
    int64_t index[STEP_RANK] = {0}, offset = 0, from = v->offset;
    int other = -1; /* if the last axis has gaps: the other axis with the smallest stride */
    if (!view_count(v)) return;
    const StridedRun row =
        last < 0 ? (StridedRun){1, 1, 1} : (StridedRun){v->dim[last], 1, v->stride[last]};
    for (int a = 0; a < last && llabs(row.from) > 1; a++)
        if (v->dim[a] > 1 && (other < 0 || llabs(v->stride[a]) < llabs(v->stride[other])))
            other = a;
    for (;;) {
        char *y = (char *)out + offset * (int64_t)size;
        const char *x = (const char *)slot + from * (int64_t)size;
        if (other < 0) read_run(size, row, y, x);
        else
            read_plane(size, row, (StridedRun){v->dim[other], to.stride[other], v->stride[other]},
                       y, x);
        int a = last - 1;
        for (; a >= 0; a--) {
            if (a == other) continue;
            offset += to.stride[a], from += v->stride[a];
            if (++index[a] < v->dim[a]) break;
            offset -= v->dim[a] * to.stride[a], from -= v->dim[a] * v->stride[a];
            index[a] = 0;
        }
        if (a < 0) return;
    }
}
