/* view.h -- arithmetic on the offsets, sizes and strides of views (isomer_backend.h), which are
   passed by value. Axes count from 0. */
#ifndef ISOMER_VIEW_H
#define ISOMER_VIEW_H
#include "ops/backend/isomer_backend.h"
#include <stdbool.h>
#include <stddef.h>

/* The number of elements of the view. */
int64_t view_count(const View *);
/* The range of elements of the slot in which the elements of the view lie: from *low up to, but not
   including, *high, which is *low if it has none. Strides may be negative. */
void view_extent(const View *, int64_t *low, int64_t *high);
/* Whether two views have the same elements in the same order; strides of axes of size 1 do not
   matter. */
bool view_same(const View *, const View *);
/* Whether the strides are those of a row-major tensor; view_gapless: in a plain layout, too. */
bool view_is_dense(const View *);
bool view_gapless(const View *);
/* A dense row-major view from the start of the slot. */
View view_dense(int32_t slot, int32_t dtype, int rank, const int64_t dim[]);
/* The view along n of its axes in the given order, at index 0 of the others. */
View view_axes(const View *, int n, const int axis[]);
/* The view without its axes of size 1. */
View view_narrow(const View *);
/* The places from..from+size-1 of one axis. */
View view_part(const View *, int axis, int64_t from, int64_t size);
/* The view with an axis split into two: parts of `size` places each, which must divide it, and the
   places of a part. For fewer axes than STEP_RANK. */
View view_split(const View *, int axis, int64_t size);
/* The view broadcast to these sizes: missing leading axes, and axes of another size (1), repeat. */
View view_spread(const View *, int rank, const int64_t dim[]);
/* Copies the elements, of `size` bytes each (1, 2, 4, 8 or 16), to out in row-major order. If the
   last axis has gaps, it is traversed in square tiles together with the other axis that has the
   smallest stride. */
void view_gather(const View *, const void *slot, size_t size, void *out);
#endif
