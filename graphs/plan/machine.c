/* machine.c -- measures the limits of the machine: its floating-point rate, and the bandwidth of
   each cache level and of main memory.

   The rate is that of the fastest of several matrix products that fit in a cache, over all
   algorithms. A bandwidth is measured by adding two tensors that fill about half of a level or, for
   main memory, several times the last level. A short step spends part of its time on the call
   itself, so a level is never reported as slower than the level after it. */
#include "graphs/plan/machine.h"
#include "graphs/plan/profile.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IDENTITY = 4096, FLOATS = 4, SUM_VIEWS = 3 };
static const int64_t products[] = {256, 384, 512, 768};

double machine_least(const Machine *m, double flops, double bytes) {
    int k = 0;
    while (k + 1 < m->n && bytes > m->level[k].size) k++;
    return fmax(flops / m->flops, bytes / m->level[k].bandwidth);
}

static View tensor(int slot, int rank, int64_t n) {
    View v = {.slot = slot, .dtype = DT_FLOAT, .rank = rank};
    for (int k = 0; k < rank; k++) v.dim[k] = n, v.stride[k] = k == rank - 1 ? 1 : n;
    return v;
}

static double measure_flops(const Backend *b, Device *d, Error *e) {
    static const bool known[] = {false, false, true};
    double most = -1;
    for (size_t k = 0; k < sizeof products / sizeof *products; k++) {
        const int64_t n = products[k];
        const View v[] = {tensor(0, 2, n), tensor(1, 2, n), tensor(2, 2, n)};
        const Step s = {.kind = S_GEMM, .nview = 3, .view = v};
        const double seconds = profile_fastest(
            &(StepTiming){.backend = b, .device = d, .step = &s, .known = known, .seed = 1}, e);
        if (seconds > 0) most = fmax(most, 2.0 * (double)(n * n * n) / seconds);
    }
    return most;
}

/* The bandwidth of a sum of two tensors; the three tensors together have this many bytes. */
static double measure_bandwidth(const Backend *b, Device *d, double bytes, Error *e) {
    static const Scalar code[] = {
        {.op = C_VIEW, .a = 1}, {.op = C_VIEW, .a = 2}, {.op = C_ADD, .a = 0, .b = 1}};
    const int64_t n = (int64_t)(bytes / (FLOATS * SUM_VIEWS));
    const View v[] = {tensor(0, 1, n), tensor(1, 1, n), tensor(2, 1, n)};
    const Step s = {.kind = S_EWISE, .nview = 3, .ncode = 3, .view = v, .code = code};
    const double seconds = profile_step(
        &(StepTiming){
            .backend = b, .device = d, .step = &s, .seed = 1, .give_up_seconds = INFINITY},
        e);
    return seconds > 0 ? FLOATS * SUM_VIEWS * (double)n / seconds : -1;
}

/* The size of a cache level as the C library gives it. For the last level this may be the total of
   the whole machine. */
static double library_size(int level) {
    static const int name[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                               _SC_LEVEL3_CACHE_SIZE};
    static const double otherwise[] = {32 << 10, 1 << 20, 16 << 20};
    const long size = sysconf(name[level - 1]);
    return size > 0 ? (double)size : otherwise[level - 1];
}
/* Reads the first line of the file `name` of cache number `index`. */
static bool read_line(const char *folder, int index, const char *name, char *line, int n) {
    char path[IDENTITY];
    snprintf(path, sizeof path, "%s/index%d/%s", folder, index, name);
    FILE *f = fopen(path, "r");
    const bool read = f && fgets(line, n, f);
    if (f) fclose(f);
    return read;
}
double machine_cache(const char *folder, int level) {
    char text[64], unit = 0;
    for (int k = 0; read_line(folder, k, "level", text, sizeof text); k++) {
        double size = 0;
        if (atoi(text) != level || !read_line(folder, k, "type", text, sizeof text) ||
            strncmp(text, "Instruction", 11) == 0 ||
            !read_line(folder, k, "size", text, sizeof text) ||
            sscanf(text, "%lf%c", &size, &unit) < 1 || !(size > 0))
            continue;
        return unit == 'K' ? size * 1024 : unit == 'M' ? size * 1024 * 1024 : size;
    }
    return 0;
}
/* Sets the sizes of the levels; the last one is unlimited. */
static void name_levels(Machine *m) {
    m->n = MACHINE_LEVELS;
    for (int k = 0; k < m->n - 1; k++) {
        const double size = machine_cache("/sys/devices/system/cpu/cpu0/cache", k + 1);
        m->level[k].size = size > 0 ? size : library_size(k + 1);
    }
    m->level[m->n - 1].size = INFINITY;
}
/* The bytes to use for level k: half of a cache, but for the last cache, which others share, no
   more than eight times the size of the one before; for memory, three times the last cache, within
   bounds. */
static double filling(const Machine *m, int k) {
    if (k + 1 == m->n) return fmin(fmax(3 * m->level[k - 1].size, 96 << 20), 384 << 20);
    const double half = m->level[k].size / 2;
    return k + 2 == m->n ? fmin(half, 8 * m->level[k - 1].size) : half;
}

static bool measure(const Backend *b, Device *d, Machine *m, Error *e) {
    bool measured = (m->flops = measure_flops(b, d, e)) > 0;
    for (int k = 0; k < m->n; k++)
        measured &= (m->level[k].bandwidth = measure_bandwidth(b, d, filling(m, k), e)) > 0;
    for (int k = m->n - 2; k >= 0; k--)
        m->level[k].bandwidth = fmax(m->level[k].bandwidth, m->level[k + 1].bandwidth);
    return measured || error_set(e, E_ENVIRONMENT, b->name, "the device cannot be measured");
}

/* Rate k of the machine: that of arithmetic, then those of the levels. The cost file keeps their
   inverses, seconds per operation or byte, because it keeps the smallest number. */
static const char *const rate_key[] = {"flops", "level 1", "level 2", "level 3", "memory"};
static double *rate(Machine *m, int k) { return k ? &m->level[k - 1].bandwidth : &m->flops; }

/* Reads the rates of the device from the cost file; false if one is missing. */
static bool read_rates(CostDb *db, const char *device, Machine *m) {
    bool there = true;
    for (int k = 0; k <= m->n && there; k++) {
        double seconds;
        there = costdb_get(db, "machine", device, rate_key[k], &seconds) && seconds > 0;
        if (there) *rate(m, k) = 1 / seconds;
    }
    return there;
}

bool machine_find(const Backend *b, Device *d, CostDb *db, Machine *m, Error *e) {
    char identity[IDENTITY], device[IDENTITY + 32];
    if (b->identity(d, identity, sizeof identity))
        return error_set(e, E_ENVIRONMENT, b->name, "the back end does not identify its device");
    snprintf(device, sizeof device, "%s threads %d", identity, b->threads ? b->threads(d) : 0);
    *m = (Machine){0};
    name_levels(m);
    if (db && read_rates(db, device, m)) return true;
    Error why = {0};
    if (!measure(b, d, m, &why)) return error_set(e, why.kind, why.place, "%s", why.reason);
    for (int k = 0; k <= m->n && db; k++)
        if (!costdb_put(db, "machine", device, rate_key[k], 1 / *rate(m, k), e)) return false;
    /* The inverse of an inverse may differ in its last bit, and what is printed of it in a digit:
       this run shows what later runs read. */
    return !db || read_rates(db, device, m) ||
           error_set(e, E_ENVIRONMENT, "costs", "the cost file does not keep what is written");
}

void machine_print(const Machine *m, Text *t) {
    text_add(t, "machine: %.1f GFLOP/s; GB/s:", 1e-9 * m->flops);
    for (int k = 0; k < m->n; k++) {
        text_add(t, " %.1f", 1e-9 * m->level[k].bandwidth);
        if (k + 1 < m->n) text_add(t, " (up to %.0f KiB),", m->level[k].size / 1024);
    }
    text_add(t, "\n");
}
