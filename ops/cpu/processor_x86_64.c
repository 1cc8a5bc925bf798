/* processor_x86_64.c -- implements processor.h for x86-64. */
#include "ops/cpu/processor.h"
#include <cpuid.h>
#include <immintrin.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int processor_loops(const Simd *table[SIMD_TABLES]) {
    int n = 0;
    table[n++] = &simd_base;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return n;
    table[n++] = &simd_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        table[n++] = &simd_avx512;
    return n;
}

bool processor_adds_four(void) { return __builtin_cpu_supports("avx512vnni") != 0; }

/* ---- tiles */
/* The state of the tiles is large, so Linux gives it only to processes that ask for it. */
#ifdef SYS_arch_prctl
static bool tiles_allowed(void) {
    enum { REQUEST = 0x1023 /* ARCH_REQ_XCOMP_PERM */, TILE_STATE = 18 };
    return syscall(SYS_arch_prctl, REQUEST, TILE_STATE) == 0;
}
#else
static bool tiles_allowed(void) { return false; }
#endif
bool processor_has_tiles(void) {
    const unsigned of_bytes = 3u << 24; /* AMX-TILE, AMX-INT8 */
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & of_bytes) == of_bytes && tiles_allowed();
}

typedef struct TileConfig {
    uint8_t palette, start, none[14];
    uint16_t bytes[16]; /* of a row of each tile */
    uint8_t rows[16];
} TileConfig;
/* Tiles 0 to 2 and 3 to 5 are the sums of 16 columns over the three planes, 6 is a part of a plane,
   and 7 are the words by which it is multiplied. The numbers of tiles are parts of instructions, so
   these are macros. */
#define MULTIPLY_PLANE(sum_tile, plane) \
    _tile_loadd(6, plane, (size_t)row); \
    _tile_dpbsud(sum_tile, 6, 7);
#define MULTIPLY_PLANES(tile0, tile1, tile2, at) \
    _tile_loadd(7, at, PANEL * sizeof *word);    \
    MULTIPLY_PLANE(tile0, plane)                 \
    MULTIPLY_PLANE(tile1, plane + 4 * words)     \
    MULTIPLY_PLANE(tile2, plane + 8 * words)
#define STORE_SUMS(tile0, tile1, tile2, to)                                  \
    _tile_stored(tile0, to, PANEL * sizeof *sum);                            \
    _tile_stored(tile1, (to) + TILE_ROWS_MOST * PANEL, PANEL * sizeof *sum); \
    _tile_stored(tile2, (to) + 2 * TILE_ROWS_MOST * PANEL, PANEL * sizeof *sum);
#define CLEAR_SUMS(tile0, tile1, tile2) \
    _tile_zero(tile0);                  \
    _tile_zero(tile1);                  \
    _tile_zero(tile2);
__attribute__((target("amx-tile,amx-int8"))) void processor_multiply_tiles(
    int32_t *sum, const int8_t *a, int64_t row, int64_t rows, const uint32_t *word, int64_t words) {
    enum { COLUMNS = 16, LINE = 64 };
    TileConfig config = {.palette = 1};
    for (int k = 0; k < 8; k++)
        config.bytes[k] = LINE, config.rows[k] = k == 7 ? TILE_WORDS : (uint8_t)rows;
    _tile_loadconfig(&config);
    for (int c = 0; c < PANEL; c += 2 * COLUMNS) {
        const int8_t *plane = a;
        const uint32_t *at = word + c;
        CLEAR_SUMS(0, 1, 2)
        CLEAR_SUMS(3, 4, 5)
        for (int64_t k = 0; k < words; k += TILE_WORDS, at += TILE_WORDS * PANEL, plane += LINE) {
            MULTIPLY_PLANES(0, 1, 2, at)
            MULTIPLY_PLANES(3, 4, 5, at + COLUMNS)
        }
        STORE_SUMS(0, 1, 2, sum + c)
        STORE_SUMS(3, 4, 5, sum + c + COLUMNS)
    }
    _tile_release();
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}
double processor_answers_in(void) {
    double least = 1e9;
    for (int k = 0; k < 3; k++) {
        unsigned a, b, c, d;
        const double start = now();
        __cpuid(0, a, b, c, d);
        const double took = now() - start;
        least = took < least ? took : least;
    }
    return least;
}

/* OpenBLAS takes processors that are newer than itself for the oldest ones. Therefore the core is
   chosen by what the processor supports. */
const char *processor_blas_core(bool oldest) {
    const Simd *table[SIMD_TABLES];
    if (oldest) return "Prescott";
    switch (processor_loops(table)) {
    case 3: return __builtin_cpu_supports("avx512bf16") ? "Cooperlake" : "SkylakeX";
    case 2: return "Haswell";
    default: return NULL;
    }
}

/* The name has no runs of blanks. */
void processor_name(char *text, size_t n) {
    unsigned r[12] = {0}, signature = 0, b, c, d;
    char name[sizeof r + 1] = "", *to = name;
    if ((unsigned)__get_cpuid_max(0x80000000u, NULL) >= 0x80000004u)
        for (unsigned i = 0; i < 3; i++)
            __get_cpuid(0x80000002u + i, &r[4 * i], &r[4 * i + 1], &r[4 * i + 2], &r[4 * i + 3]);
    const char *from = (const char *)r;
    for (size_t i = 0; i < sizeof r && from[i] != 0; i++)
        if (from[i] != ' ' || (to > name && to[-1] != ' ')) *to++ = from[i];
    while (to > name && to[-1] == ' ') to--;
    *to = 0;
    __get_cpuid(1, &signature, &b, &c, &d);
    snprintf(text, n, "%s (%x)", name, signature);
}

enum { DENORMAL_RESULTS = 0x8000, DENORMAL_OPERANDS = 0x40 };
const bool processor_flushes = true;
FloatMode processor_mode(void) { return _mm_getcsr(); }
void processor_set_mode(FloatMode mode) { _mm_setcsr((unsigned)mode); }
FloatMode processor_flushing(FloatMode mode) { return mode | DENORMAL_RESULTS | DENORMAL_OPERANDS; }
void processor_pause(void) { _mm_pause(); }
