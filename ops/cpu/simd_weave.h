/* simd_weave.h -- K runs of n elements of 4 bytes each, `stride` apart, into one in which they take
   turns, and back: channels or pixels that are shuffled. Included by simd_body.h. */
#define DEFINE_WEAVE(K)                                                                       \
    static void weave_##K(uint32_t *restrict y, const uint32_t *restrict x, int64_t stride,   \
                          int64_t n) {                                                        \
        for (int64_t i = 0; i < n; i++)                                                       \
            for (int j = 0; j < K; j++) y[i * K + j] = x[j * stride + i];                     \
    }                                                                                         \
    static void unweave_##K(uint32_t *restrict y, const uint32_t *restrict x, int64_t stride, \
                            int64_t n) {                                                      \
        for (int64_t i = 0; i < n; i++)                                                       \
            for (int j = 0; j < K; j++) y[j * stride + i] = x[i * K + j];                     \
    }
DEFINE_WEAVE(2)
DEFINE_WEAVE(3)
DEFINE_WEAVE(4)
DEFINE_WEAVE(8)
