/* simd_grid.h -- where gridsample reads (GridReads: simd.h), for some places at a time; included by
   simd_body.h. */
#include "ops/backend/isomer_op_steps.h"

/* The positions on an axis of `size` elements, as the reference kernel computes them
   (kernel_grid_place): if products and sums were contracted, a position between two elements could
   be rounded to the other one. */
APART static void grid_positions(float *at, const float *g, float size, bool align, int64_t n) {
    NOT_CONTRACTED
    if (align) EACH at[i] = (g[i] + 1) / 2 * (size - 1);
    else EACH at[i] = ((g[i] + 1) * size - 1) / 2;
    EACH {
        const float low = at[i] >= -1e9f ? at[i] : -1e9f;
        at[i] = low <= 1e9f ? low : 1e9f;
    }
}
/* x, or where x is mirrored to from outside low..high. */
static inline double grid_mirrored(double x, double low, double high) {
    const double range = high - low, beyond = x < low ? low - x : x - high,
                 turns = floor(beyond / range), rest = beyond - turns * range,
                 odd = turns - 2 * floor(turns / 2), from_low = (double)(x < low),
                 at = from_low == odd ? high - rest : low + rest;
    return x >= low && x <= high ? x : range > 0 ? at : low;
}
/* Moves positions outside the image into it. Those between its edge and the centre of its first or
   last element are inside. */
static void grid_inside(const GridReads *r, float *at, int64_t size, int64_t n) {
    const float end = (float)(size - 1), first = r->align ? 0 : -0.5f, last = end - first;
    const double low = r->align ? 0 : -0.5, high = (double)size - (r->align ? 1 : 0.5);
    if (r->taps == 1) EACH at[i] = rintf(at[i]);
    if (r->outside == GRID_BORDER) EACH {
            const float x = at[i] < first ? 0 : at[i];
            at[i] = x > last ? end : x;
        }
    else if (r->outside == GRID_REFLECTION)
        EACH at[i] = (float)grid_mirrored((double)at[i], low, high);
}
/* The elements that an axis contributes to each tap. One outside the image gets the number of an
   element and, where there are zeros outside, weight 0. */
typedef struct GridAxis {
    int32_t place[4][GRID_PLACES];
    float weight[4][GRID_PLACES], at[GRID_PLACES];
} GridAxis;
static void grid_weights(GridAxis *a, int taps, int64_t n) {
    EACH {
        const float low = floorf(a->at[i]), t = a->at[i] - low, u = 1 - t;
        const int32_t first = (int32_t)low - (taps == 4);
        for (int k = 0; k < taps; k++) a->place[k][i] = first + k;
        if (taps == 1) a->weight[0][i] = 1;
        else if (taps == 2) a->weight[0][i] = u, a->weight[1][i] = t;
        else { /* Keys's kernel with a = -3/4 */ a->weight[0][i] = -0.75f * t * u * u;
            a->weight[1][i] = (1.25f * t - 2.25f) * t * t + 1;
            a->weight[2][i] = (1.25f * u - 2.25f) * u * u + 1;
            a->weight[3][i] = -0.75f * u * t * t;
        }
    }
}
static void grid_places(const GridReads *r, int32_t *place, float *weight, int axis, int64_t n) {
    const int32_t size = (int32_t)r->size[axis], stride = (int32_t)r->stride[axis];
    const double low = r->align ? 0 : -0.5, high = (double)size - (r->align ? 1 : 0.5);
    if (r->outside == GRID_ZEROS)
        EACH weight[i] = (uint32_t)place[i] < (uint32_t)size ? weight[i] : 0;
    else if (r->outside == GRID_REFLECTION && r->taps == 4)
        EACH place[i] = (int32_t)grid_mirrored((double)place[i], low, high);
    EACH {
        const int32_t inside = place[i] < 0 ? 0 : place[i];
        place[i] = (inside < size ? inside : size - 1) * stride;
    }
}
static void grid_reads(const GridReads *r) {
    const int64_t n = r->n;
    GridAxis axis[2];
    for (int a = 0; a < 2; a++) {
        grid_positions(axis[a].at, r->grid[a], (float)r->size[a], r->align, n);
        grid_inside(r, axis[a].at, r->size[a], n);
        if (r->taps == 1) grid_weights(&axis[a], 1, n);
        else if (r->taps == 2) grid_weights(&axis[a], 2, n);
        else grid_weights(&axis[a], 4, n);
        for (int k = 0; k < r->taps; k++) grid_places(r, axis[a].place[k], axis[a].weight[k], a, n);
    }
    for (int t = 0; t < r->taps * r->taps; t++) {
        const int down = t / r->taps, right = t % r->taps;
        int32_t *place = r->place + t * n;
        float *weight = r->weight + t * n;
        EACH place[i] = axis[0].place[down][i] + axis[1].place[right][i];
        EACH weight[i] = axis[0].weight[down][i] * axis[1].weight[right][i];
    }
}
