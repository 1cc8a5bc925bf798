/* simd_order.h -- finds the first elements of a line in some order (topk.c); included by
   simd_body.h. Elements are converted to keys, which are integers of the elements' size that are
   greater the earlier an element comes. Further loops find how many keys, and which, are at least a
   given one. */

/* Both zeros have the same key, and NaN comes last. */
#define DEFINE_ORDER_REAL(T, K, U)                                                 \
    static void order_##T(void *pkey, const void *px, bool largest, int64_t n) {   \
        K *key = pkey;                                                             \
        const T *x = px;                                                           \
        const K turn = largest ? 0 : -1, last = (K)((U)1 << (8 * sizeof(K) - 1));  \
        EACH {                                                                     \
            const T value = x[i] + 0;                                              \
            const K bits = (union {                                                \
                               T real;                                             \
                               K whole;                                            \
                           }){value}                                               \
                               .whole,                                             \
                    ascending = bits ^ (K)((U)(bits >> (8 * sizeof(K) - 1)) >> 1); \
            key[i] = value == value ? ascending ^ turn : last;                     \
        }                                                                          \
    }
DEFINE_ORDER_REAL(float, int32_t, uint32_t)
DEFINE_ORDER_REAL(double, int64_t, uint64_t)
#define DEFINE_ORDER_WHOLE(T, change)                                            \
    static void order_##T(void *pkey, const void *px, bool largest, int64_t n) { \
        int64_t *key = pkey;                                                     \
        const uint64_t *x = px, turn = (change) ^ (largest ? 0 : UINT64_MAX);    \
        EACH key[i] = (int64_t)(x[i] ^ turn);                                    \
    }
DEFINE_ORDER_WHOLE(int64_t, 0)
DEFINE_ORDER_WHOLE(uint64_t, (uint64_t)1 << 63)

/* Most runs of SEARCHED keys contain none that is wanted. rank_K computes how many keys come before
   each one; among equal keys, the first comes first. */
enum { SEARCHED = 32 };
#define DEFINE_FROM(K)                                                                           \
    static int64_t count_from_##K(const void *pkey, int64_t least, int64_t n) {                  \
        const K *key = pkey, low = (K)least;                                                     \
        K count = 0;                                                                             \
        _Pragma("omp simd reduction(+ : count)") for (int64_t i = 0; i < n; i++) count +=        \
            key[i] >= low;                                                                       \
        return count;                                                                            \
    }                                                                                            \
    static inline int64_t add_places_##K(int32_t *at, const K *key, K low, int64_t from,         \
                                         int64_t n) {                                            \
        int64_t found = 0;                                                                       \
        for (int64_t i = 0; i < n; i++) at[found] = (int32_t)(from + i), found += key[i] >= low; \
        return found;                                                                            \
    }                                                                                            \
    static int64_t places_from_##K(int32_t *at, const void *pkey, int64_t least, int64_t n) {    \
        const K *key = pkey, low = (K)least;                                                     \
        int64_t found = 0, from = 0;                                                             \
        for (; from + SEARCHED <= n; from += SEARCHED) {                                         \
            K any = 0;                                                                           \
            _Pragma("omp simd reduction(| : any)") for (int i = 0; i < SEARCHED; i++) any |=     \
                key[from + i] >= low;                                                            \
            if (any) found += add_places_##K(at + found, key + from, low, from, SEARCHED);       \
        }                                                                                        \
        return found + add_places_##K(at + found, key + from, low, from, n - from);              \
    }                                                                                            \
    static void rank_##K(int32_t *rank, const void *pkey, int64_t n) {                           \
        const K *key = pkey;                                                                     \
        EACH rank[i] = 0;                                                                        \
        for (int64_t j = 0; j < n; j++) {                                                        \
            const K own = key[j];                                                                \
            int32_t after = 0;                                                                   \
            _Pragma("omp simd reduction(+ : after)") for (int64_t i = j + 1; i < n; i++) {       \
                const int32_t later = own >= key[i];                                             \
                rank[i] += later, after += later;                                                \
            }                                                                                    \
            rank[j] += (int32_t)(n - 1 - j) - after;                                             \
        }                                                                                        \
    }
DEFINE_FROM(int32_t)
DEFINE_FROM(int64_t)

/* Columns are handled in whole vectors. A key moves down the list of its column, past all keys that
   come before it. Then it takes the place of another one, and `moved` makes that and all later ones
   move down by one place. */
enum { FIRST_KEPT = 4 }; /* vectors of a list, or lists of one vector, that stay in registers */
#define KEYS_OF(K) (int)(WIDTH * sizeof(float) / sizeof(K))
#define DEFINE_FIRST_OF_ROWS(K)                                                                    \
    typedef K Keys_##K                                                                             \
        __attribute__((vector_size(WIDTH * sizeof(float)), aligned(sizeof(K)), may_alias));        \
    ALWAYS void exchange_##K(Keys_##K *old, Keys_##K *its, Keys_##K *own, Keys_##K *place,         \
                             Keys_##K *moved) {                                                    \
        const Keys_##K x = *own, z = *old, xp = *place, zp = *its, before = *moved | (x > z);      \
        *moved = before;                                                                           \
        *old = (before & x) | (~before & z), *its = (before & xp) | (~before & zp);                \
        *own = (before & z) | (~before & x), *place = (before & zp) | (~before & xp);              \
    }                                                                                              \
    /* Adds the rows from..to-1 to the lists of one vector of columns. */                          \
    static void first_slow_##K(const FirstRows *f, K *first, K *where, const K *key, int64_t from, \
                               int64_t to) {                                                       \
        for (int64_t j = from; j < to; j++) {                                                      \
            const int64_t at = f->at + j, found = at < f->k ? at : f->k;                           \
            Keys_##K own = *(const Keys_##K *)(key + j * f->ks), place = (Keys_##K){0} + (K)at,    \
                     moved = {0};                                                                  \
            for (int64_t s = 0; s < found; s++)                                                    \
                exchange_##K((Keys_##K *)(first + s * f->fs), (Keys_##K *)(where + s * f->fs),     \
                             &own, &place, &moved);                                                \
            if (found == f->k) continue;                                                           \
            *(Keys_##K *)(first + found * f->fs) = own;                                            \
            *(Keys_##K *)(where + found * f->fs) = place;                                          \
        }                                                                                          \
    }                                                                                              \
    /* The same for `beside` vectors and lists of k keys, which have been filled. */               \
    ALWAYS void first_kept_##K(const FirstRows *f, K *first, K *where, const K *key, int64_t from, \
                               int beside, int k) {                                                \
        Keys_##K best[FIRST_KEPT], its[FIRST_KEPT];                                                \
        UNROLLED(int v = 0; v < beside * k; v++) {                                                 \
            best[v] = *(const Keys_##K *)(first + v % k * f->fs + v / k * KEYS_OF(K));             \
            its[v] = *(const Keys_##K *)(where + v % k * f->fs + v / k * KEYS_OF(K));              \
        }                                                                                          \
        for (int64_t j = from; j < f->rows; j++) UNROLLED(int b = 0; b < beside; b++) {            \
                Keys_##K own = *(const Keys_##K *)(key + j * f->ks + b * KEYS_OF(K)),              \
                         place = (Keys_##K){0} + (K)(f->at + j), moved = {0};                      \
                UNROLLED(int s = 0; s < k; s++)                                                    \
                exchange_##K(&best[b * k + s], &its[b * k + s], &own, &place, &moved);             \
            }                                                                                      \
        UNROLLED(int v = 0; v < beside * k; v++) {                                                 \
            *(Keys_##K *)(first + v % k * f->fs + v / k * KEYS_OF(K)) = best[v];                   \
            *(Keys_##K *)(where + v % k * f->fs + v / k * KEYS_OF(K)) = its[v];                    \
        }                                                                                          \
    }                                                                                              \
    static void first_of_rows_##K(const FirstRows *f) {                                            \
        const int64_t empty = f->at < f->k ? f->k - f->at : 0,                                     \
                      from = empty < f->rows ? empty : f->rows;                                    \
        const K *key = f->key;                                                                     \
        K *first = f->first, *where = f->where;                                                    \
        for (int64_t i = 0; i < f->n; i += KEYS_OF(K))                                             \
            first_slow_##K(f, first + i, where + i, key + i, 0,                                    \
                           f->k > FIRST_KEPT ? f->rows : from);                                    \
        if (f->k > FIRST_KEPT || from == f->rows) return;                                          \
        int64_t i = 0;                                                                             \
        for (; f->k == 1 && i + 4 * KEYS_OF(K) <= f->n; i += 4 * KEYS_OF(K))                       \
            first_kept_##K(f, first + i, where + i, key + i, from, 4, 1);                          \
        for (; i < f->n; i += KEYS_OF(K)) {                                                        \
            if (f->k == 1) first_kept_##K(f, first + i, where + i, key + i, from, 1, 1);           \
            else if (f->k == 2) first_kept_##K(f, first + i, where + i, key + i, from, 1, 2);      \
            else if (f->k == 3) first_kept_##K(f, first + i, where + i, key + i, from, 1, 3);      \
            else first_kept_##K(f, first + i, where + i, key + i, from, 1, 4);                     \
        }                                                                                          \
    }
DEFINE_FIRST_OF_ROWS(int32_t)
DEFINE_FIRST_OF_ROWS(int64_t)
