/* simd_fft.h -- the inner loops of Fourier transforms (fft.c), in doubles, with real and imaginary
   parts in two separate runs; included by simd_body.h.

   A pass is one of Stockham's autosort transform, decimation in frequency (C. Van Loan,
   Computational Frameworks for the Fast Fourier Transform, 1992, section 1.7). For p < m and k <
   radix it computes
     y[radix * p + k] = w^(k p) * sum over j < radix of u^(j k) x[p + j * m],
   where w and u are the roots of unity of order radix * m and radix. Each element stands for s
   adjacent numbers. */
typedef struct Complex {
    double re, im;
} Complex;
static inline Complex times(Complex a, Complex b) {
    return (Complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static inline Complex sum_of(Complex a, Complex b) { return (Complex){a.re + b.re, a.im + b.im}; }
static inline Complex less_of(Complex a, Complex b) { return (Complex){a.re - b.re, a.im - b.im}; }
/* Computes a - i b: b is turned back by a quarter of a turn. */
static inline Complex less_i(Complex a, Complex b) { return (Complex){a.re + b.im, a.im - b.re}; }
static inline Complex plus_i(Complex a, Complex b) { return (Complex){a.re - b.im, a.im + b.re}; }
static inline Complex scaled(Complex a, double f) { return (Complex){a.re * f, a.im * f}; }

/* Tells the compiler that the parts of a number, and inputs and results, do not overlap. */
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif
#define SIDE_BY_SIDE INDEPENDENT for (int64_t q = 0; q < s; q++)

static inline void turn_2(Complex t[]) {
    const Complex a = t[0];
    t[0] = sum_of(a, t[1]), t[1] = less_of(a, t[1]);
}
static inline void turn_3(Complex t[]) {
    const Complex sum = sum_of(t[1], t[2]), odd = scaled(less_of(t[1], t[2]), 0.86602540378443865),
                  even = sum_of(t[0], scaled(sum, -0.5));
    t[0] = sum_of(t[0], sum), t[1] = less_i(even, odd), t[2] = plus_i(even, odd);
}
static inline void turn_4(Complex t[]) {
    const Complex a = sum_of(t[0], t[2]), b = less_of(t[0], t[2]), c = sum_of(t[1], t[3]),
                  d = less_of(t[1], t[3]);
    t[0] = sum_of(a, c), t[1] = less_i(b, d), t[2] = less_of(a, c), t[3] = plus_i(b, d);
}
static inline void turn_5(Complex t[]) {
    const double c1 = 0.30901699437494742, c2 = -0.80901699437494742, s1 = 0.95105651629515357,
                 s2 = 0.58778525229247313;
    const Complex a = sum_of(t[1], t[4]), b = sum_of(t[2], t[3]), d = less_of(t[1], t[4]),
                  e = less_of(t[2], t[3]),
                  near = sum_of(t[0], sum_of(scaled(a, c1), scaled(b, c2))),
                  far = sum_of(t[0], sum_of(scaled(a, c2), scaled(b, c1))),
                  turned = sum_of(scaled(d, s1), scaled(e, s2)),
                  crossed = less_of(scaled(d, s2), scaled(e, s1));
    t[0] = sum_of(t[0], sum_of(a, b));
    t[1] = less_i(near, turned), t[4] = plus_i(near, turned);
    t[2] = less_i(far, crossed), t[3] = plus_i(far, crossed);
}
static inline Complex root_at(const FftPass *f, int64_t power) {
    const double *root = f->root + 2 * f->step * power;
    return (Complex){root[0], root[1]};
}
#define DEFINE_PASS(R)                                                                     \
    static void pass_##R(const FftPass *f, double *restrict y, const double *restrict x) { \
        const int64_t s = f->s, im = f->im, apart = f->m * s;                              \
        for (int64_t p = 0; p < f->m; p++, x += s, y += R * s) {                           \
            Complex w[R];                                                                  \
            UNROLLED(int k = 1; k < R; k++) w[k] = root_at(f, k * p);                      \
            SIDE_BY_SIDE {                                                                 \
                Complex t[R];                                                              \
                UNROLLED(int j = 0; j < R; j++)                                            \
                t[j] = (Complex){x[q + j * apart], x[im + q + j * apart]};                 \
                turn_##R(t);                                                               \
                UNROLLED(int k = 1; k < R; k++) t[k] = times(t[k], w[k]);                  \
                UNROLLED(int k = 0; k < R; k++)                                            \
                y[q + k * s] = t[k].re, y[im + q + k * s] = t[k].im;                       \
            }                                                                              \
        }                                                                                  \
    }
DEFINE_PASS(2)
DEFINE_PASS(3)
DEFINE_PASS(4)
DEFINE_PASS(5)
/* A pass of any other radix: the sums of the definition. */
static void pass_any(const FftPass *f, double *restrict y, const double *restrict x) {
    const int64_t s = f->s, im = f->im, order = f->radix * f->m;
    for (int64_t p = 0; p < f->m; p++)
        for (int64_t k = 0; k < f->radix; k++) {
            double *to = y + (f->radix * p + k) * s;
            for (int64_t j = 0; j < f->radix; j++) {
                const Complex w = root_at(f, k * (p + j * f->m) % order);
                const double *from = x + (p + j * f->m) * s;
                SIDE_BY_SIDE {
                    const Complex t = times(w, (Complex){from[q], from[im + q]});
                    to[q] = j ? to[q] + t.re : t.re, to[im + q] = j ? to[im + q] + t.im : t.im;
                }
            }
        }
}
static void fft_pass(const FftPass *f, double *y, const double *x) {
    switch (f->radix) {
    case 2: pass_2(f, y, x); break;
    case 3: pass_3(f, y, x); break;
    case 4: pass_4(f, y, x); break;
    case 5: pass_5(f, y, x); break;
    default: pass_any(f, y, x);
    }
}

/* Computes the transform of 2m real numbers, y[k] for k <= m, from that of m complex numbers, whose
   parts are the even and the odd ones (J. W. Cooley, P. A. W. Lewis, P. D. Welch, 1970). */
static void fft_split(const FftPass *f, double *restrict y, const double *restrict x) {
    const int64_t s = f->s, im = f->im, m = f->m;
    for (int64_t k = 0; k <= m; k++, y += s) {
        const Complex w = root_at(f, k);
        const double *a = x + (k < m ? k : 0) * s, *b = x + (k > 0 ? m - k : 0) * s;
        SIDE_BY_SIDE {
            const Complex u = {a[q], a[im + q]}, v = {b[q], -b[im + q]};
            const Complex odd = times(w, less_of(u, v)), t = less_i(sum_of(u, v), odd);
            y[q] = 0.5 * t.re, y[im + q] = 0.5 * t.im;
        }
    }
}
/* The inverse of fft_split, times 2: x[k] for k <= m is the first half of a transform whose inverse
   is real. */
static void fft_join(const FftPass *f, double *restrict y, const double *restrict x) {
    const int64_t s = f->s, im = f->im, m = f->m;
    for (int64_t k = 0; k < m; k++, y += s) {
        const Complex root = root_at(f, k), w = {root.re, -root.im};
        const double *a = x + k * s, *b = x + (m - k) * s;
        SIDE_BY_SIDE {
            const Complex u = {a[q], a[im + q]}, v = {b[q], -b[im + q]};
            const Complex odd = times(w, less_of(u, v)), t = plus_i(sum_of(u, v), odd);
            y[q] = t.re, y[im + q] = t.im;
        }
    }
}
/* Computes y[k] = x[k] * root[k] for k < m; y may be x. */
static void fft_scale(const FftPass *f, double *y, const double *x) {
    const int64_t s = f->s, im = f->im;
    for (int64_t k = 0; k < f->m; k++, x += s, y += s) {
        const Complex w = root_at(f, k);
        SIDE_BY_SIDE {
            const Complex t = times(w, (Complex){x[q], x[im + q]});
            y[q] = t.re, y[im + q] = t.im;
        }
    }
}
