/* kernel.c -- shared by reference kernels: iteration over the indices of views, access to single
   elements of any numeric type, and formulas that other kernels need as well. */
#include "ops/operator/op_kernel.h"
#include "ops/core/element.h"
#include <math.h>
#include <string.h>

bool kernel_first(const View *v, int64_t i[]) {
    for (int a = 0; a < v->rank; a++) {
        i[a] = 0;
        if (v->dim[a] == 0) return false;
    }
    return v->rank >= 0;
}
bool kernel_next(const View *v, int64_t i[]) {
    for (int a = v->rank - 1; a >= 0; a--) {
        if (++i[a] < v->dim[a]) return true;
        i[a] = 0;
    }
    return false;
}
int64_t kernel_at(const View *v, const int64_t i[]) {
    int64_t offset = v->offset;
    for (int a = 0; a < v->rank; a++) offset += i[a] * v->stride[a];
    return offset;
}
int64_t kernel_at_broadcast(const View *v, int rank, const int64_t i[]) {
    int64_t offset = v->offset;
    for (int a = 0; a < v->rank; a++)
        if (v->dim[a] > 1) offset += i[a + rank - v->rank] * v->stride[a];
    return offset;
}

double kernel_real(const View *v, void *const slot[], int64_t offset) {
    return element_real((DType)v->dtype, slot[v->slot], offset);
}
int64_t kernel_integer(const View *v, void *const slot[], int64_t offset) {
    return element_integer((DType)v->dtype, slot[v->slot], offset);
}
void kernel_set_real(const View *v, void *const slot[], int64_t offset, double x) {
    element_set_real((DType)v->dtype, slot[v->slot], offset, x);
}
void kernel_set_integer(const View *v, void *const slot[], int64_t offset, int64_t x) {
    element_set_integer((DType)v->dtype, slot[v->slot], offset, x);
}
double kernel_greatest(int32_t dtype) { return element_greatest((DType)dtype); }

float kernel_grid_place(float g, int64_t n, bool align) {
    const float at = align ? (g + 1) / 2 * (float)(n - 1) : ((g + 1) * (float)n - 1) / 2;
    return isfinite(at) && fabsf(at) <= 1e9f ? at : at > 0 ? 1e9f : -1e9f;
}
double kernel_keys(double a, double t) {
    t = fabs(t);
    if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
    return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}
bool kernel_is_integer(const View *v) { return dtype_class((DType)v->dtype) != 'F'; }
void kernel_move(const View *to, void *const slot[], int64_t to_offset, const View *from,
                 int64_t from_offset) {
    if (kernel_is_integer(from))
        kernel_set_integer(to, slot, to_offset, kernel_integer(from, slot, from_offset));
    else kernel_set_real(to, slot, to_offset, kernel_real(from, slot, from_offset));
}

KernelRow kernel_row(const View *v, void *const slot[], const int64_t i[]) {
    return (KernelRow){v->dtype, slot[v->slot], kernel_at(v, i), v->stride[v->rank - 1]};
}
#define DEFINE_DOT(NAME, A, B)                                                         \
    static double NAME(const void *given_a, const void *given_b, int64_t n) {          \
        const A *a = given_a;                                                          \
        const B *b = given_b;                                                          \
        double sum[4] = {0}, rest = 0;                                                 \
        int64_t k = 0;                                                                 \
        for (; k + 4 <= n; k += 4)                                                     \
            for (int j = 0; j < 4; j++) sum[j] += (double)a[k + j] * (double)b[k + j]; \
        for (; k < n; k++) rest += (double)a[k] * (double)b[k];                        \
        return (sum[0] + sum[1]) + (sum[2] + sum[3]) + rest;                           \
    }
DEFINE_DOT(dot_floats, float, float)
DEFINE_DOT(dot_double_float, double, float)
static const char *start_of(KernelRow x, int64_t width) {
    return (const char *)x.data + x.offset * width;
}
double kernel_dot(KernelRow a, KernelRow b, int64_t n) {
    double sum = 0;
    if (a.stride == 1 && b.stride == 1 && b.dtype == DT_FLOAT) {
        if (a.dtype == DT_FLOAT) return dot_floats(start_of(a, 4), start_of(b, 4), n);
        if (a.dtype == DT_DOUBLE) return dot_double_float(start_of(a, 8), start_of(b, 4), n);
    }
    for (int64_t k = 0; k < n; k++)
        sum += element_real((DType)a.dtype, a.data, a.offset + k * a.stride) *
               element_real((DType)b.dtype, b.data, b.offset + k * b.stride);
    return sum;
}

void kernel_each(const Step *step, void *const slot[], double (*real)(double)) {
    const View *y = &step->view[0], *x = &step->view[1];
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i))
        kernel_set_real(y, slot, kernel_at(y, i), real(kernel_real(x, slot, kernel_at(x, i))));
}

static void set_element(const View *y, void *const slot[], int64_t place, bool integer, double real,
                        int64_t whole) {
    if (integer) kernel_set_integer(y, slot, place, whole);
    else kernel_set_real(y, slot, place, real);
}
void kernel_pairs(const Step *step, void *const slot[], double (*real)(double, double),
                  int64_t (*integer)(int64_t, int64_t)) {
    const View *y = &step->view[0], *a = &step->view[1], *b = &step->view[2];
    int64_t i[STEP_RANK];
    bool whole = kernel_is_integer(a);
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        int64_t pa = kernel_at_broadcast(a, y->rank, i), pb = kernel_at_broadcast(b, y->rank, i);
        if (whole)
            set_element(y, slot, kernel_at(y, i), true, 0,
                        integer(kernel_integer(a, slot, pa), kernel_integer(b, slot, pb)));
        else
            set_element(y, slot, kernel_at(y, i), false,
                        real(kernel_real(a, slot, pa), kernel_real(b, slot, pb)), 0);
    }
}

RoiBoxes roi_boxes(const int64_t param[]) {
    return (RoiBoxes){param_real(param[ROI_SCALE]), param[ROI_ALIGN] != 0, param[ROI_SAMPLES]};
}
RoiSpan roi_span(const RoiBoxes *b, const double ends[2], int64_t bins, int64_t size) {
    const double offset = b->align ? 0.5 : 0, start = ends[0] * b->scale - offset;
    double length = ends[1] * b->scale - offset - start;
    if (!b->align && length < 1) length = 1;
    const double bin = length / (double)bins;
    const int64_t own = bin > 0 && bin < 1e9 ? (int64_t)ceil(bin) : 0;
    return (RoiSpan){start, bin, b->samples > 0 ? b->samples : own, size};
}
bool roi_beside(const RoiSpan *s, int64_t i, int64_t k, int64_t at[2], double weight[2]) {
    double place = s->start + (double)i * s->bin + ((double)k + 0.5) * s->bin / (double)s->samples;
    if (!(place >= -1 && place <= (double)s->size) || !s->size) return false;
    if (place < 0) place = 0;
    at[0] = (int64_t)place, at[1] = at[0] + 1;
    if (at[0] >= s->size - 1) at[0] = at[1] = s->size - 1, place = (double)at[0];
    weight[1] = place - (double)at[0], weight[0] = 1 - weight[1];
    return true;
}
