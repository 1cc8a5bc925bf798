/* view.h -- views by value (isomer_backend.h): plain arithmetic on offsets, sizes and strides. Axes
   count from 0. */
#ifndef ISOMER_VIEW_H
#define ISOMER_VIEW_H
#include "ops/backend/isomer_backend.h"
#include <stdbool.h>
#include <stddef.h>

int64_t view_count(const View *);
/* The elements of its slot between which a view's lie: from *low to before *high. Strides may be
   negative. */
void view_extent(const View *, int64_t *low, int64_t *high);
/* Row-major from the start of the slot. */
View view_dense(int32_t slot, int32_t dtype, int rank, const int64_t dim[]);
/* Axes in this order; the others are dropped. */
View view_axes(const View *, int n, const int axis[]);
/* Without its axes of size 1. */
View view_narrow(const View *);
View view_part(const View *, int axis, int64_t from, int64_t size);
/* To these sizes: missing and shorter axes repeat. */
View view_spread(const View *, int rank, const int64_t dim[]);
/* Its elements row-major into out, bit by bit; `size` bytes each (1, 2, 4, 8 or 16). Where the view
   runs fastest along another axis than the last, both are walked in square tiles. */
void view_gather(const View *, const void *slot, size_t size, void *out);
#endif
