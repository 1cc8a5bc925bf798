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
