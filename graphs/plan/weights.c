/* weights.c -- measures how much longer reading weights takes if they are not in the cache. A row
   times a matrix reads each weight once and computes next to nothing. It is timed with a matrix
   that stays in the cache and with matrices that have about as many bytes as the model's weights.
   The size of the last cache by sysconf decides nothing, because others share that cache. */
#include "graphs/plan/weights.h"
#include "graphs/plan/profile.h"
#include "ops/backend/view.h"
#include "ops/core/element.h"
#include <math.h>
#include <stdio.h>

#define BUSY 16.0            /* operations per byte of weights; with more, reading them is hidden */
#define SMALL (256 * 1024.0) /* bytes of weights: a step with fewer is not copied */
enum { N = 512, MATRIX = N * N * 4 /* bytes */ };
/* Weights of up to `upto` bytes are represented by this many matrices; 0: they stay in the
   cache. */
static const struct {
    double upto;
    int64_t matrices;
} sizes[] = {{4 << 20, 0}, {16 << 20, 8}, {64 << 20, 32}, {INFINITY, 96}};

static View matrices(int slot, int64_t count, int64_t rows) {
    return (View){.slot = slot,
                  .dtype = DT_FLOAT,
                  .rank = 3,
                  .dim = {count, rows, N},
                  .stride = {rows * N, N, 1}};
}

/* The seconds per byte of weights, by the fastest algorithm; < 0 if they cannot be measured. */
static double seconds_a_byte(const Backend *b, Device *d, int64_t count) {
    static const bool known[] = {false, false, true};
    const View v[] = {matrices(0, count, 1), matrices(1, count, 1), matrices(2, count, N)};
    const Step s = {.kind = S_GEMM, .nview = 3, .view = v};
    Error ignored = {0};
    const double seconds = profile_fastest(
        &(StepTiming){.backend = b, .device = d, .step = &s, .known = known, .seed = 1}, &ignored);
    return seconds > 0 ? seconds / (double)(count * MATRIX) : -1;
}

double weights_cold(const Backend *b, Device *d, CostDb *db, const char *identity, bool frozen,
                    double bytes) {
    char key[64];
    Error ignored = {0};
    double seconds = 0;
    int k = 0;
    while (bytes > sizes[k].upto) k++;
    if (!sizes[k].matrices) return 0;
    snprintf(key, sizeof key, "weights of %d MiB", (int)sizes[k].matrices);
    const bool kept = db && costdb_get(db, "machine", identity, key, &seconds);
    if (kept && seconds > 0) return seconds;
    if (frozen) return 0;
    const double far = seconds_a_byte(b, d, sizes[k].matrices), near = seconds_a_byte(b, d, 1);
    if (near <= 0 || far <= near) return 0; /* a failure or noise, which must not be kept */
    seconds = far - near;
    if (kept) costdb_forget(db, "machine", identity, key, &ignored); /* 0, which is not a time */
    if (db) costdb_put(db, "machine", identity, key, seconds, &ignored);
    return seconds;
}

int weights_copies(double model, double own, double flops) {
    int k = 0;
    while (model > sizes[k].upto) k++;
    if (!sizes[k].matrices || own < SMALL || flops > BUSY * own) return 1;
    return (int)fmax(1, ceil((double)sizes[k].matrices * (double)MATRIX / own));
}

double weights_of(const Step *s, const bool known[]) {
    double bytes = 0;
    if (s->kind != S_GEMM && s->kind != S_CONV) return 0;
    for (int j = 0; j < s->nview; j++)
        if (known[j])
            bytes += (double)element_bytes((DType)s->view[j].dtype, view_count(&s->view[j]));
    return bytes;
}
