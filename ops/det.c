/* det: the determinant of each matrix in the last two axes of x, by Gaussian elimination with
   partial pivoting, in double. */
#include "ops/operator/op.h"
#include <math.h>
enum { ROWS_MAX = 64 };

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim;
    int64_t n;
    if (x.n < 2) return "det needs at least two axes";
    need_eq(c, x.v[x.n - 2], x.v[x.n - 1]);
    if (!is_const(c, x.v[x.n - 1], &n) && !is_const(c, x.v[x.n - 2], &n))
        return "the matrix size of det is not a known number";
    if (n > ROWS_MAX) return "det supports matrices of at most 64 rows";
    const char *why = same_type(c, "F");
    c->out[0].dim.n = x.n - 2;
    return why;
}

static double eliminate(int64_t n, double a[ROWS_MAX][ROWS_MAX]) {
    double product = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t r = k + 1; r < n; r++)
            if (fabs(a[r][k]) > fabs(a[pivot][k])) pivot = r;
        for (int64_t j = 0; j < n && pivot != k; j++) {
            double t = a[k][j];
            a[k][j] = a[pivot][j];
            a[pivot][j] = t;
        }
        product *= pivot == k ? a[k][k] : -a[k][k];
        if (a[k][k] == 0) return 0;
        for (int64_t r = k + 1; r < n; r++) {
            const double factor = a[r][k] / a[k][k];
            for (int64_t j = k + 1; j < n; j++) a[r][j] -= factor * a[k][j];
        }
    }
    return product;
}
static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    double a[ROWS_MAX][ROWS_MAX];
    int64_t i[STEP_RANK], n = x->dim[x->rank - 1];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        int64_t *r = &i[x->rank - 2], *j = &i[x->rank - 1];
        for (*r = 0; *r < n; ++*r)
            for (*j = 0; *j < n; ++*j) a[*r][*j] = kernel_real(x, slot, kernel_at(x, i));
        kernel_set_real(y, slot, kernel_at(y, i), eliminate(n, a));
    }
    return 0;
}

static const OnnxMap onnx[] = {{"", "Det", 11, 0, ""}, {0}};
const Op op_det = {"det", "x", "y", .shape = shape, .kernel = kernel, .onnx = onnx};
