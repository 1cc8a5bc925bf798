/* determinant.c -- the determinant by fraction-free elimination (E. H. Bareiss, Sylvester's
   identity and multistep integer-preserving Gaussian elimination, 1968). After k steps, every
   remaining entry is a minor of order k + 1 of the matrix. So the division by the previous pivot is
   exact, and no entry grows beyond the minors. */
#include "verifier/determinant.h"

/* Returns a row from k on whose entry in column k is not 0, or -1. A number is preferred, since it
   keeps degrees low. */
static int pivot_row(const World *w, int n, const Poly m[], int k) {
    int found = -1;
    for (int i = k; i < n; i++) {
        int64_t c;
        if (!m[i * n + k]) continue;
        if (poly_constant(w, m[i * n + k], &c)) return i;
        if (found < 0) found = i;
    }
    return found;
}
static void swap_rows(int n, Poly m[], int a, int b) {
    for (int j = 0; j < n; j++) {
        const Poly t = m[a * n + j];
        m[a * n + j] = m[b * n + j];
        m[b * n + j] = t;
    }
}
/* Elimination step k; `before` is the pivot of the step before. */
static bool eliminate(World *w, int n, Poly m[], int k, Poly before) {
    const Poly pivot = m[k * n + k];
    for (int i = k + 1; i < n; i++)
        for (int j = k + 1; j < n; j++) {
            const Poly left = poly_mul(w, m[i * n + j], pivot),
                       right = poly_mul(w, m[i * n + k], m[k * n + j]);
            if (!poly_divide(w, poly_sub(w, left, right), before, &m[i * n + j])) return false;
        }
    return !overflow_noted(w);
}
static bool eliminate_all(World *w, int n, Poly m[], Poly *value) {
    Poly before = poly_int(w, 1);
    int64_t sign = 1;
    *value = n ? 0 : before;
    for (int k = 0; k < n; k++) {
        const int row = pivot_row(w, n, m, k);
        if (row < 0) return true;
        if (row != k) {
            swap_rows(n, m, row, k);
            sign = -sign;
        }
        if (!eliminate(w, n, m, k, before)) return false;
        before = m[k * n + k];
    }
    *value = poly_scale(w, before, sign);
    return true;
}
bool determinant(World *w, int n, Poly m[], Poly *value) {
    const Overflow overflow = overflow_begin(w);
    const bool good = eliminate_all(w, n, m, value);
    return !overflow_end(w, overflow) && good;
}
