/* op_kernel.h -- reference kernels, which S_OP steps find by the name of the operator, and the
   functions they are written with. The views of an S_OP step are its outputs, then its inputs; an
   omitted optional input has rank -1. isomer_op_steps.h describes the
   parameters that back ends read; enums P_.. in an operator's file, those that only its own kernel
   reads. */
#ifndef ISOMER_OP_KERNEL_H
#define ISOMER_OP_KERNEL_H
#include "ops/backend/isomer_backend.h"
#include "ops/backend/isomer_op_steps.h"
#include <stdbool.h>

/* A reference kernel: plain loops over views, on one thread. slot[k] is the memory of slot k.
   Returns 0, or -1 if an input holds a value that is not allowed, such as an index out of range. */
typedef int (*OpKernel)(const Step *, void *const slot[]);
OpKernel op_kernel(const char *name); /* the reference kernel of an operator; NULL: it has none */

/* Iterate over the indices of a view in row-major order:
     for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) .. */
bool kernel_first(const View *, int64_t i[]);
bool kernel_next(const View *, int64_t i[]);
/* The offset of the element at index i, in elements from the start of the view's slot. */
int64_t kernel_at(const View *, const int64_t i[]);
/* Likewise, with the view broadcast to a tensor of this rank, of which i is an index. */
int64_t kernel_at_broadcast(const View *, int rank, const int64_t i[]);
/* Read and write the element at an offset that kernel_at returns. */
double kernel_real(const View *, void *const slot[], int64_t offset);
int64_t kernel_integer(const View *, void *const slot[], int64_t offset);
void kernel_set_real(const View *, void *const slot[], int64_t offset, double);
void kernel_set_integer(const View *, void *const slot[], int64_t offset, int64_t);
/* A row of numbers: n of them at data[k * stride], of any numeric type. */
typedef struct KernelRow {
    int32_t dtype;
    const void *data; /* the memory of the slot; `offset` is that of the first element from there */
    int64_t offset, stride;
} KernelRow;
/* the row along the last axis that begins at index i */
KernelRow kernel_row(const View *, void *const slot[], const int64_t i[]);
double kernel_dot(KernelRow, KernelRow, int64_t n); /* the sum of the products, in double */
/* The greatest finite number of a float type of 16 bits or less; 0 for other types. */
double kernel_greatest(int32_t dtype);
/* The weight of cubic interpolation at a distance of t, with the parameter a: R. Keys, "Cubic
   convolution interpolation for digital image processing", 1981. */
double kernel_keys(double a, double t);
/* The place on an axis of n places that the coordinate g of gridsample, from -1 to 1, means, in
   float32 as ONNX computes it; limited to +-1e9. `align`: -1 and 1 are the centres of the first and
   last places, otherwise their outer edges. */
float kernel_grid_place(float g, int64_t n, bool align);
bool kernel_is_integer(const View *); /* whether it has integers or booleans */
/* Copies one element, and converts it if the types differ. */
void kernel_move(const View *to, void *const slot[], int64_t to_offset, const View *from,
                 int64_t from_offset);
/* Decision trees (ops/trees.c): the fields of a node, and its modes, which say how the feature is
   compared with the node's value. */
enum { TREE_FEATURE, TREE_MODE, TREE_YES, TREE_NO, TREE_MISSING, TREE_FIELDS };
enum { TREE_LEAF, TREE_LEQ, TREE_LT, TREE_GTE, TREE_GT, TREE_EQ, TREE_NEQ };
/* Whether the comparison of a feature x with a node's value holds. Floats are compared as
   doubles. */
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
/* roialign (ops/roialign.c): RoiBoxes are the parameters for all boxes. A RoiSpan is a box along
   one axis of the image: the start of its first bin, the length of a bin, the samples in a bin, and
   the size of the axis. `ends` are the box's two coordinates as in the input. */
typedef struct RoiBoxes {
    double scale;
    bool align;
    int64_t samples; /* samples of a bin along an axis; 0: as many as its length */
} RoiBoxes;
typedef struct RoiSpan {
    double start, bin;
    int64_t samples, size;
} RoiSpan;
RoiBoxes roi_boxes(const int64_t param[]);
RoiSpan roi_span(const RoiBoxes *, const double ends[2], int64_t bins, int64_t size);
/* Finds the two elements beside sample k of bin i, and their weights; false: the sample is outside
   the image. */
bool roi_beside(const RoiSpan *, int64_t i, int64_t k, int64_t at[2], double weight[2]);
/* Computes y[i] = real(x[i]). */
void kernel_each(const Step *, void *const slot[], double (*real)(double));
/* Computes y[i] = f(a[i], b[i]) with broadcasting; f is `integer` if a holds integers or booleans,
   else `real`. */
void kernel_pairs(const Step *, void *const slot[], double (*real)(double, double),
                  int64_t (*integer)(int64_t, int64_t));
#endif
