/* simd_lanes.h -- sums over windows of planes that lie side by side, one in each lane (means.c);
   included by simd_body.h. */
#define LANE_VECTORS (PLANE_LANES / WIDTH)
ALWAYS void add_lanes(float *y, const float *x, int64_t step, int64_t apart, int64_t terms,
                      const float *divisor, int64_t n) {
    for (int64_t i = 0; i < n; i++, y += PLANE_LANES, x += step * PLANE_LANES)
        UNROLLED(int v = 0; v < LANE_VECTORS; v++) {
            const float *from = x + v * WIDTH;
            Floats sum = terms ? *(const Floats *)from : (Floats){0};
            for (int64_t t = 1; t < terms; t++)
                sum += *(const Floats *)(from + t * apart * PLANE_LANES);
            if (divisor) sum /= divisor[i];
            *(Floats *)(y + v * WIDTH) = sum;
        }
}
ALWAYS void add_terms(float *y, const float *x, int64_t step, int64_t apart, int64_t terms,
                      const float *divisor, int64_t n) {
    switch (terms) {
    case 2: add_lanes(y, x, step, apart, 2, divisor, n); break;
    case 3: add_lanes(y, x, step, apart, 3, divisor, n); break;
    default: add_lanes(y, x, step, apart, terms, divisor, n);
    }
}
static void lane_means(float *y, const float *x, int64_t step, int64_t apart, int64_t terms,
                       const float *divisor, int64_t n) {
    if (divisor) add_terms(y, x, step, apart, terms, divisor, n);
    else add_terms(y, x, step, apart, terms, NULL, n);
}
