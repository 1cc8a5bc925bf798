/* simd_det.h -- the determinant of a matrix (det.c); included by simd_body.h. A vector holds
   elements of one column. Rows above the pivot's are in the same vectors, but their factor is 0. */

enum { DET_LANES = 8 };
#define EACH_LANE _Pragma("omp simd") for (int i = 0; i < DET_LANES; i++)
#define FOLD_BEST(x, better)                                                                    \
    _Pragma("GCC unroll 3") /* log2 of DET_LANES */                                             \
        for (int width = DET_LANES / 2; width >= 1; width /= 2) for (int i = 0; i < width; i++) \
            x[i] = x[i] better x[i + width] ? x[i] : x[i + width]
/* The first row from `row` on whose element has the greatest absolute value. */
static inline int64_t pivot_of(const double *column, int64_t row, int64_t stride) {
    double best[DET_LANES], where[DET_LANES], size[DET_LANES];
    EACH_LANE best[i] = -1, where[i] = (double)row;
    for (int64_t r = row - row % DET_LANES; r < stride; r += DET_LANES) EACH_LANE {
            const double x = fabs(column[r + i]), place = (double)r + (double)i;
            const bool better = (x > best[i]) & (place >= (double)row);
            best[i] = better ? x : best[i];
            where[i] = better ? place : where[i];
        }
    EACH_LANE size[i] = best[i];
    FOLD_BEST(size, >);
    const double greatest = size[0];
    EACH_LANE where[i] = best[i] == greatest ? where[i] : (double)stride;
    FOLD_BEST(where, <);
    return (int64_t)where[0];
}
static double determinant(double *a, double *factor, int64_t n, int64_t stride) {
    double product = 1;
    for (int64_t k = 0; k < n; k++) {
        const double *column = a + k * stride;
        const int64_t p = pivot_of(column, k, stride), low = k - k % DET_LANES;
        const double pivot = column[p], first = column[k] / pivot;
        product *= p == k ? pivot : -pivot;
        if (pivot == 0) return 0;
        for (int64_t r = low; r < stride; r += DET_LANES) EACH_LANE {
                const bool below = (r + i > k) & (r + i != p);
                factor[r + i] = below ? column[r + i] / pivot : 0;
            }
        for (int64_t j = k + 1; j < n; j++) { /* row k moves to the pivot's place */
            double *to = a + j * stride;
            const double x = to[p], moved = to[k] - first * x;
            for (int64_t r = low; r < stride; r += DET_LANES)
                EACH_LANE to[r + i] -= factor[r + i] * x;
            to[p] = moved;
        }
    }
    return product;
}
