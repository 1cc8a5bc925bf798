/* kernel.c -- what reference kernels share: walking over the indices of views and reading single
   elements of any numeric type. */
#include "ops/op_kernel.h"
#include "ops/core/element.h"
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
    int64_t place = v->offset;
    for (int a = 0; a < v->rank; a++) place += i[a] * v->stride[a];
    return place;
}
int64_t kernel_joined(const View *v, int rank, const int64_t i[]) {
    int64_t place = v->offset;
    for (int a = 0; a < v->rank; a++)
        if (v->dim[a] > 1) place += i[a + rank - v->rank] * v->stride[a];
    return place;
}

double kernel_real(const View *v, void *const slot[], int64_t place) {
    return element_real((DType)v->dtype, slot[v->slot], place);
}
int64_t kernel_integer(const View *v, void *const slot[], int64_t place) {
    return element_integer((DType)v->dtype, slot[v->slot], place);
}
void kernel_set_real(const View *v, void *const slot[], int64_t place, double x) {
    element_set_real((DType)v->dtype, slot[v->slot], place, x);
}
void kernel_set_integer(const View *v, void *const slot[], int64_t place, int64_t x) {
    element_set_integer((DType)v->dtype, slot[v->slot], place, x);
}
double kernel_greatest(int32_t dtype) { return element_greatest((DType)dtype); }
double kernel_bits_real(int64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
bool kernel_is_integer(const View *v) { return dtype_class((DType)v->dtype) != 'F'; }
void kernel_move(const View *to, void *const slot[], int64_t to_place, const View *from,
                 int64_t from_place) {
    if (kernel_is_integer(from))
        kernel_set_integer(to, slot, to_place, kernel_integer(from, slot, from_place));
    else kernel_set_real(to, slot, to_place, kernel_real(from, slot, from_place));
}

void kernel_each(const Step *step, void *const slot[], double (*real)(double)) {
    const View *y = &step->view[0], *x = &step->view[1];
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i))
        kernel_set_real(y, slot, kernel_at(y, i), real(kernel_real(x, slot, kernel_at(x, i))));
}

static void set(const View *y, void *const slot[], int64_t place, bool integer, double real,
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
        int64_t pa = kernel_joined(a, y->rank, i), pb = kernel_joined(b, y->rank, i);
        if (whole)
            set(y, slot, kernel_at(y, i), true, 0,
                integer(kernel_integer(a, slot, pa), kernel_integer(b, slot, pb)));
        else
            set(y, slot, kernel_at(y, i), false,
                real(kernel_real(a, slot, pa), kernel_real(b, slot, pb)), 0);
    }
}
