/* view.c -- views by value. */
#include "ops/backend/view.h"

int64_t view_count(const View *v) {
    int64_t n = 1;
    for (int k = 0; k < v->rank; k++) n *= v->dim[k];
    return n;
}

void view_extent(const View *v, int64_t *low, int64_t *high) {
    int64_t first = v->offset, last = v->offset;
    for (int a = 0; a < v->rank; a++) {
        const int64_t reach = v->dim[a] > 0 ? (v->dim[a] - 1) * v->stride[a] : 0;
        first += reach < 0 ? reach : 0, last += reach > 0 ? reach : 0;
    }
    *low = first, *high = last + 1;
}

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
