/* lanes.c -- finds how the lines of a tensor along an axis can be computed side by side, one in
   each lane of vector registers. */
#include "ops/cpu/cpu.h"

Lanes lanes_of(Nest *nest, int view, int64_t n, int64_t along) {
    const int64_t *stride = nest->stride + (ptrdiff_t)view * STEP_RANK;
    int last = nest->rank - 1;
    Lanes l = {.kind = LANES_APART, .inner = 1, .rows = n};
    if (along == 1) l.kind = LANES_TURNED;
    else if (stride[last] == 1 && nest->dim[last] >= LANES_LEAST) l.kind = LANES_BESIDE;
    else if (stride[last] == 1 && nest->dim[last] == along && last > 0) {
        l.kind = LANES_TURNED, l.inner = along, last--;
        for (int v = 0; v < nest->n; v++) l.step[v] = nest->stride[v * STEP_RANK + nest->rank - 1];
    }
    if (l.kind == LANES_TURNED && nest->dim[last] < LANES_LEAST) return (Lanes){.inner = 1};
    nest->rank = last + 1;
    if (l.kind != LANES_TURNED) return l;
    /* The pieces of a line have about the same length. */
    const int64_t most = LANES_COLUMNS / l.inner, pieces = (n + most - 1) / most;
    l.rows = (n + pieces - 1) / pieces;
    return l;
}

void lanes_turn(const Simd *simd, int size, char *y, const char *x, int64_t xs, int64_t rows,
                int64_t columns) {
    if (size == 4) {
        simd->transpose((uint32_t *)(void *)y, LANES_TURNED_MOST, (const uint32_t *)(const void *)x,
                        xs, rows, columns);
        return;
    }
    uint64_t *to = (uint64_t *)(void *)y;
    const uint64_t *from = (const uint64_t *)(const void *)x;
    for (int64_t c = 0; c < columns; c++, to += LANES_TURNED_MOST)
        for (int64_t r = 0; r < rows; r++) to[r] = from[r * xs + c];
}
