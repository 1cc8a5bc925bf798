/* simd_rotate.h -- turns pairs of numbers (rotate.c); included by simd_body.h. */

/* Products and sums are rounded one by one, as in separate element-wise steps. */
APART static void rotate(float *const v[6], const int64_t step[6], int64_t n, int64_t rows) {
    NOT_CONTRACTED
    for (int64_t r = 0; r < rows; r++) {
        float *f = v[0] + r * step[0], *s = v[1] + r * step[1];
        const float *p = v[2] + r * step[2], *q = v[3] + r * step[3], *c = v[4] + r * step[4],
                    *d = v[5] + r * step[5];
        EACH {
            const float x = p[i], z = q[i];
            f[i] = x * c[i] - z * d[i];
            s[i] = z * c[i] + x * d[i];
        }
    }
}
APART static void rotate_pairs(float *const v[6], const int64_t step[6], int64_t n, int64_t rows) {
    NOT_CONTRACTED
    for (int64_t r = 0; r < rows; r++) {
        float *y = v[0] + r * step[0];
        const float *x = v[2] + r * step[2], *c = v[4] + r * step[4], *d = v[5] + r * step[5];
        EACH {
            const float p = x[2 * i], q = x[2 * i + 1];
            y[2 * i] = p * c[i] - q * d[i];
            y[2 * i + 1] = q * c[i] + p * d[i];
        }
    }
}
