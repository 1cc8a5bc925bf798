/* moves.c -- moves elements one by one, as bytes, from or to places that offsets select. */
#include "ops/cpu/cpu.h"

/* Four elements are read before they are written, because the compiler cannot know that they do not
   overlap. */
#define DEFINE_MOVES(T)                                                                      \
    static inline void side_by_side_##T(T *y, const T *x, int64_t xs, const int64_t *o,      \
                                        int64_t n) {                                         \
        int64_t k = 0;                                                                       \
        for (; k + 4 <= n; k += 4) {                                                         \
            const T *from = x + k * xs;                                                      \
            const T a = from[o[k]], b = from[xs + o[k + 1]], c = from[2 * xs + o[k + 2]],    \
                    d = from[3 * xs + o[k + 3]];                                             \
            y[k] = a, y[k + 1] = b, y[k + 2] = c, y[k + 3] = d;                              \
        }                                                                                    \
        for (; k < n; k++) y[k] = x[k * xs + o[k]];                                          \
    }                                                                                        \
    static void move_##T(char *py, int64_t ys, const char *px, int64_t xs, const int64_t *o, \
                         int64_t os, int64_t n) {                                            \
        T *y = (T *)(void *)py;                                                              \
        const T *x = (const T *)(const void *)px;                                            \
        if (ys == 1 && os == 1 && xs == 0) side_by_side_##T(y, x, 0, o, n);                  \
        else if (ys == 1 && os == 1) side_by_side_##T(y, x, xs, o, n);                       \
        else                                                                                 \
            for (int64_t k = 0; k < n; k++) y[k * ys] = x[k * xs + o[k * os]];               \
    }                                                                                        \
    static void put_##T(char *py, int64_t ys, const int64_t *o, int64_t os, const char *px,  \
                        int64_t xs, int64_t n) {                                             \
        T *y = (T *)(void *)py;                                                              \
        const T *x = (const T *)(const void *)px;                                            \
        for (int64_t k = 0; k < n; k++) y[k * ys + o[k * os]] = x[k * xs];                   \
    }
DEFINE_MOVES(uint8_t)
DEFINE_MOVES(uint16_t)
DEFINE_MOVES(uint32_t)
DEFINE_MOVES(uint64_t)
/* Functions for each size of an element. */
typedef struct Moves {
    void (*move)(char *y, int64_t ys, const char *x, int64_t xs, const int64_t *o, int64_t os,
                 int64_t n);
    void (*put)(char *y, int64_t ys, const int64_t *o, int64_t os, const char *x, int64_t xs,
                int64_t n);
} Moves;
static const Moves moves[] = {[1] = {move_uint8_t, put_uint8_t},
                              [2] = {move_uint16_t, put_uint16_t},
                              [4] = {move_uint32_t, put_uint32_t},
                              [8] = {move_uint64_t, put_uint64_t}};
void move_elements(int size, char *y, int64_t ys, const char *x, int64_t xs, const int64_t *o,
                   int64_t os, int64_t n) {
    moves[size].move(y, ys, x, xs, o, os, n);
}
void put_elements(int size, char *y, int64_t ys, const int64_t *o, int64_t os, const char *x,
                  int64_t xs, int64_t n) {
    moves[size].put(y, ys, o, os, x, xs, n);
}
