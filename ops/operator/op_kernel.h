/* op_kernel.h -- reference kernels, which S_OP steps find by the name of the operator, and what
   they are written with. The views of an S_OP step are the outputs, then the inputs; an optional
   input that is missing has rank -1. Its parameters: isomer_op_steps.h. */
#ifndef ISOMER_OP_KERNEL_H
#define ISOMER_OP_KERNEL_H
#include "ops/backend/isomer_backend.h"
#include "ops/backend/isomer_op_steps.h"
#include <stdbool.h>

/* slot[k] is the memory of slot k. 0: done; -1: an input holds values that are not allowed, such as
   an index that is out of range. Plain loops over views, on one thread. */
typedef int (*OpKernel)(const Step *, void *const slot[]);
OpKernel op_kernel(const char *name); /* NULL: it has none */

/* for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) goes through the indices of
   a view in row-major order. */
bool kernel_first(const View *, int64_t i[]);
bool kernel_next(const View *, int64_t i[]);
/* The offset of the element at index i, in elements from the start of the view's slot. */
int64_t kernel_at(const View *, const int64_t i[]);
/* The same where the view is broadcast to a tensor of this rank, of which i is an index. */
int64_t kernel_at_broadcast(const View *, int rank, const int64_t i[]);
/* Reading and writing the element at an offset that kernel_at gives. */
double kernel_real(const View *, void *const slot[], int64_t offset);
int64_t kernel_integer(const View *, void *const slot[], int64_t offset);
void kernel_set_real(const View *, void *const slot[], int64_t offset, double);
void kernel_set_integer(const View *, void *const slot[], int64_t offset, int64_t);
/* A row of numbers: n of them at data[k * stride], of any numeric type. */
typedef struct KernelRow {
    int32_t dtype;
    const void *data; /* the slot's, from which `place` counts */
    int64_t place, stride;
} KernelRow;
KernelRow kernel_row(const View *, void *const slot[], const int64_t i[]); /* along the last axis */
double kernel_dot(KernelRow, KernelRow, int64_t n); /* in double, in four sums that are added up */
/* The greatest finite number of a float of 16 bits or less; 0: others. */
double kernel_greatest(int32_t dtype);
/* The weight of cubic interpolation at a distance of t, with the parameter a: R. Keys, "Cubic
   convolution interpolation for digital image processing", 1981. */
double kernel_keys(double a, double t);
/* Where the coordinate g of gridsample, from -1 to 1, lies on an axis of n places, in float32 as
   ONNX computes it; at most 1e9 from 0. `align`: -1 and 1 are the centres of the first and last
   places, else their outer edges. */
float kernel_grid_place(float g, int64_t n, bool align);
bool kernel_is_integer(const View *); /* integers and booleans */
/* Copies one element, converted if the types differ. */
void kernel_move(const View *to, void *const slot[], int64_t to_offset, const View *from,
                 int64_t from_offset);
/* The lists of decision trees (ops/trees.c): the fields of a node, and its mode: how its feature is
   compared with its value. */
enum { TREE_FEATURE, TREE_MODE, TREE_YES, TREE_NO, TREE_MISSING, TREE_FIELDS };
enum { TREE_LEAF, TREE_LEQ, TREE_LT, TREE_GTE, TREE_GT, TREE_EQ, TREE_NEQ };
/* Whether the mode's comparison of a feature x with a node's value holds; floats compare as their
   doubles do. */
static inline bool tree_holds(int64_t mode, double x, double value) {
    switch (mode) {
    case TREE_LEQ: return x <= value;
    case TREE_LT: return x < value;
    case TREE_GTE: return x >= value;
    case TREE_GT: return x > value;
    case TREE_EQ: return x == value;
    default: return x != value;
    }
}
/* roialign (ops/roialign.c): what its parameters say of every box, and a box along one axis
   of the image: where its first bin starts, a bin's length, the samples in it, the axis's size.
   ends: the box's, as they are in the input. */
typedef struct RoiBoxes {
    double scale;
    bool align;
    int64_t samples; /* 0: as many as the bin is long */
} RoiBoxes;
typedef struct RoiSpan {
    double start, bin;
    int64_t samples, size;
} RoiSpan;
RoiBoxes roi_boxes(const int64_t param[]);
RoiSpan roi_span(const RoiBoxes *, const double ends[2], int64_t bins, int64_t size);
/* The two elements beside sample k of bin i, and their weights; false: it is outside. */
bool roi_beside(const RoiSpan *, int64_t i, int64_t k, int64_t at[2], double weight[2]);
/* y[i] = f(x[i]). */
void kernel_each(const Step *, void *const slot[], double (*real)(double));
/* y[i] = f(a[i], b[i]), broadcast; the integer function where a holds integers or booleans. */
void kernel_pairs(const Step *, void *const slot[], double (*real)(double, double),
                  int64_t (*integer)(int64_t, int64_t));
#endif
