/* levels.c -- multiplies few rows by known weights that take few values. Such weights were
   quantized in the model, by whatever operator, and became floats only because constants are
   folded.

   Reading these weights takes longer than computing with them, so they are packed again as levels
   of 4 or 8 bits. In each block of terms of a column, weight = scale * (level - middle) + offset.
   The scale is found from the weights themselves: the greatest distance of a weight from the
   base (0 or the least weight) is a whole multiple of the scale, and so are all others. With base
   0, the error of a weight is relative to that weight: it is the rounding of a float. Otherwise it
   is relative to the greatest weight of the block, at most CLOSE of it, and at most CLOSE / SMALL
   of any weight but 0, because blocks with small weights have no levels. Weights that do not fit
   stay floats. In a block without an offset, weights that are 0 stay 0. In one with an offset, the
   terms of a 0 cancel up to a rounding of offset * x, which counts if all x with other weights are
   smaller than this one by as much.

   The levels are converted to floats in registers (Simd.levels). There is a second way if the
   processor adds products of bytes and a row has no values far above the others: the row is then
   converted to whole numbers of three bytes, which represent its greatest value as precisely as a
   float (Simd.levels_by_bytes). Several such rows are multiplied by tiles where the processor has
   them (processor_multiply_tiles), which gives the same sums. Each panel is computed by a single
   thread, so results are the same for any number of threads. */
#include "ops/base/intern.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/processor.h"
#include <math.h>
#include <string.h>

/* With fewer weights than this, floats are as fast, because they stay in the second-level cache.
   The limit is higher for several rows, for which more is computed per byte read. */
enum { FEW_OF_ROW = 1 << 16, FEW_OF_ROWS = 1 << 20 };
/* MOST_TERMS: with so many terms, sums of products of bytes fit in 32 bits. WHOLE_OF_ROW: the
   whole number to which the greatest element of a row of bytes is scaled; it leaves room for
   rounding below the limit of three bytes. LEAST_OF_TILE: so many rows are faster by tiles. */
enum { MOST_TERMS = 1 << 16, LEAST_OF_TILE = 4 };
#define WHOLE_OF_ROW 8355000.0f
#define CLOSE 0x1p-22 /* a relative error: one rounding of the weight and one of the scale */
#define SMALL 0x1p-10 /* a smaller part of the greatest weight of a block is a small weight */

/* Whether the processor can multiply rows of bytes by these levels. */
static bool can_be_bytes(const Simd *simd, const Levels *l) {
    return simd->levels_by_bytes && l->bits == 8 && l->blocks == 1 && l->terms <= MOST_TERMS &&
           processor_adds_four();
}
bool levels_worth(int64_t rows, int64_t weights) {
    return rows <= LEVEL_ROWS && weights >= (rows == 1 ? FEW_OF_ROW : FEW_OF_ROWS);
}

/* ---- the levels of a block: weight = base + scale * (level + low) */
typedef struct Lattice {
    double base, scale;
    int low; /* level 0 stands for base + scale * low */
} Lattice;
/* Finds the lattice for this base, which is a weight or 0. A weight may differ from its level's
   value by `close` and, if the base is 0, by the relative error CLOSE as well. False: there is none
   with at most `most` levels. */
static bool lattice_from(const float *w, int64_t n, double base, double close, int most,
                         Lattice *l) {
    double far = 0;
    for (int64_t i = 0; i < n; i++) {
        const double x = fabs((double)w[i] - base);
        if (!(x <= (double)INFINITY)) return false;
        if (x > far) far = x;
    }
    *l = (Lattice){.base = base};
    if (far == 0 || !isfinite(far)) return far == 0;
    for (int k = 1; k < most; k++) {
        const double scale = far / k, each = k / far;
        double low = 0, high = 0;
        int64_t i = 0;
        for (; i < n; i++) {
            const double x = (double)w[i] - base, level = rint(x * each);
            if (!(fabs(x - level * scale) <= close + (base == 0 ? CLOSE * fabs(x) : 0))) break;
            if (level < low) low = level;
            if (level > high) high = level;
        }
        if (i < n || high - low >= most) continue;
        l->scale = scale, l->low = (int)low;
        if (low >= -most / 2 && high < most / 2) l->low = -most / 2; /* then no offset is needed */
        return true;
    }
    return false;
}
/* Finds a lattice with base 0 or, if there is none and no weight is small, one whose error is
   relative to the greatest weight. Its base is the least weight, or 0 if that is among the
   weights. */
static bool lattice_of(const float *w, int64_t n, int most, Lattice *l) {
    float least = w[0], greatest = 0, smallest = INFINITY; /* smallest: but for 0 */
    bool zeros = false;
    for (int64_t i = 0; i < n; i++) {
        const float size = fabsf(w[i]);
        if (w[i] < least) least = w[i];
        if (size > greatest) greatest = size;
        if (size == 0) zeros = true;
        else if (size < smallest) smallest = size;
    }
    if (lattice_from(w, n, 0, 0, most, l)) return true;
    return (double)smallest >= SMALL * (double)greatest &&
           lattice_from(w, n, zeros ? 0 : (double)least, CLOSE * (double)greatest, most, l);
}
static float offset_of(const Lattice *l, int middle) {
    return (float)(l->base + l->scale * (l->low + middle));
}

/* ---- packing */
typedef struct Source { /* weight of term t and column c: known[t * term + c * column] */
    const float *known;
    int64_t term, column;
    float *line; /* room for a column */
} Source;
static int64_t terms_of_word(const Levels *l) { return 32 / l->bits; }
static const float *column_of(const Levels *l, const Source *s, int64_t c) {
    for (int64_t t = 0; t < l->terms; t++) s->line[t] = s->known[t * s->term + c * s->column];
    return s->line;
}
static int64_t block_terms(const Levels *l, int64_t b) {
    const int64_t left = l->terms - b * l->block;
    return left < l->block ? left : l->block;
}
/* Finds the lattices of all blocks, column by column. False: a block has none. */
static bool find_lattices(Levels *l, const Source *s, Lattice *of) {
    l->shifted = false;
    for (int64_t c = 0; c < l->columns; c++) {
        const float *w = column_of(l, s, c);
        for (int64_t b = 0; b < l->blocks; b++, of++) {
            if (!lattice_of(w + b * l->block, block_terms(l, b), 1 << l->bits, of)) return false;
            l->shifted |= offset_of(of, 1 << (l->bits - 1)) != 0;
        }
    }
    return true;
}
static size_t panel_floats(const Levels *l) {
    return (size_t)(l->words + l->blocks * (l->shifted ? 2 : 1)) * PANEL;
}
static void pack_column(const Levels *l, const float *w, const Lattice *of, uint32_t *word) {
    const int64_t each = terms_of_word(l);
    for (int64_t t = 0; t < l->words * each; t++) {
        const Lattice *at = &of[t < l->terms ? t / l->block : 0];
        uint32_t level = 1u << (l->bits - 1);
        if (t < l->terms)
            level = at->scale == 0
                        ? (uint32_t)-at->low
                        : (uint32_t)(rint(((double)w[t] - at->base) / at->scale) - at->low);
        if (t % each == 0) word[t / each * PANEL] = 0;
        word[t / each * PANEL] |= level << t % each * l->bits;
    }
}
static void pack_panels(const Levels *l, const Source *s, const Lattice *of, float *to) {
    const int middle = 1 << (l->bits - 1);
    memset(to, 0, (size_t)l->panels * panel_floats(l) * sizeof *to);
    for (int64_t c = 0; c < l->columns; c++, of += l->blocks) {
        float *panel = to + (size_t)(c / PANEL) * panel_floats(l) + c % PANEL;
        pack_column(l, column_of(l, s, c), of, (uint32_t *)(void *)panel);
        panel += l->words * PANEL;
        for (int64_t b = 0; b < l->blocks; b++) {
            panel[b * PANEL] = (float)of[b].scale;
            if (l->shifted) panel[(l->blocks + b) * PANEL] = offset_of(&of[b], middle);
        }
    }
}
/* Finds the smallest number of bits, and for it the largest blocks, for which all weights have
   levels. False: there are none. */
static bool find_levels(Build *b, Levels *l, const Source *s, Lattice **of) {
    static const int64_t blocks[] = {INT64_MAX, 256, 128, 64, 32, 16};
    for (l->bits = 4; l->bits <= 8; l->bits += 4)
        for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) {
            if (k && blocks[k] >= l->terms) continue;
            l->words = (l->terms + terms_of_word(l) - 1) / terms_of_word(l);
            l->block = k ? blocks[k] : l->words * terms_of_word(l);
            l->blocks = (l->terms + l->block - 1) / l->block;
            const float *first = column_of(l, s, 0);
            Lattice one;
            if (!lattice_of(first, block_terms(l, 0), 1 << l->bits, &one)) continue;
            *of = ARENA_NEW(b->scratch, Lattice, l->columns * l->blocks);
            if (find_lattices(l, s, *of)) return true;
        }
    return false;
}
static void levels_key(const Levels *l, const View *v, const Source *s, char key[33]) {
    struct {
        int64_t bits, terms, columns, block, term, column, first;
        char known[33];
    } of;
    memset(&of, 0, sizeof of);
    of.bits = l->bits, of.terms = l->terms, of.columns = l->columns, of.block = l->block;
    of.term = s->term, of.column = s->column;
    of.first = shared_digest(v, s->known, of.known);
    hash_hex(&of, sizeof of, key);
}
bool levels_pack(Build *b, int index, const View *v, Levels *l) {
    if (!b->weights || !b->weights[index] || v->dtype != DT_FLOAT || view_count(v) == 0)
        return false;
    *l = (Levels){
        .terms = v->dim[0], .columns = v->dim[1], .panels = (v->dim[1] + PANEL - 1) / PANEL};
    const Source s = {.known = (const float *)b->weights[index] + v->offset,
                      .term = v->stride[0],
                      .column = v->stride[1],
                      .line = ARENA_NEW(b->scratch, float, l->terms)};
    Lattice *of;
    if (!find_levels(b, l, &s, &of)) return false;
    Share *share = build_share(b);
    char key[33];
    levels_key(l, v, &s, key);
    if (!(share->bytes = shared_find(b->device, key))) {
        share->bytes =
            shared_new(b->device, key, (size_t)l->panels * panel_floats(l) * sizeof(float));
        if (!share->bytes) return build_no_memory(b);
        pack_panels(l, &s, of, share->bytes);
    }
    l->packed = share->bytes;
    l->tiles =
        can_be_bytes(b->device->simd, l) && l->words % TILE_WORDS == 0 && processor_has_tiles();
    return true;
}

/* ---- running */
static int64_t padded_terms(const Levels *l) { return l->words * terms_of_word(l); }
int64_t levels_row(const Levels *l) {
    return padded_terms(l) + LEVEL_ROW_EXTRA + (l->shifted ? l->blocks : 0);
}
void levels_enter(const Simd *simd, const Levels *l, float *to, const float *a, int64_t stride) {
    const int64_t whole = padded_terms(l);
    simd->load[CLASS_FLOAT][DT_FLOAT](to, a, stride, l->terms);
    memset(to + l->terms, 0, (size_t)(whole - l->terms) * sizeof *to);
    for (int64_t b = 0; l->shifted && b < l->blocks; b++) {
        double sum = 0;
        simd->total[CLASS_FLOAT][REDUCE_SUM](&sum, to + b * l->block, block_terms(l, b));
        to[whole + b] = (float)sum;
    }
    simd->level_terms(to, l->bits, whole);
}
bool levels_enter_bytes(const Simd *simd, const Levels *l, float *to, const float *a) {
    const int64_t whole = padded_terms(l);
    int8_t *bytes = (int8_t *)to;
    float low = 0, high = 0;
    int32_t sum[3];
    if (!can_be_bytes(simd, l)) return false;
    simd->total[CLASS_FLOAT][REDUCE_MIN](&low, a, l->terms);
    simd->total[CLASS_FLOAT][REDUCE_MAX](&high, a, l->terms);
    const float greatest = high > -low ? high : -low;
    if (!(greatest < 0x1p100f) || (greatest < 0x1p-100f && greatest != 0)) return false;
    for (int i = 0; i < 3; i++) memset(bytes + i * whole + l->terms, 0, (size_t)(whole - l->terms));
    simd->level_bytes(bytes, whole, sum, a, greatest == 0 ? 0 : WHOLE_OF_ROW / greatest, l->terms);
    const float scale = greatest / WHOLE_OF_ROW;
    const double all = sum[0] + 0x1p8 * sum[1] + 0x1p16 * sum[2];
    to[whole] = scale, to[whole + 1] = (float)(all * (double)scale);
    for (int i = 0; i < 3; i++) sum[i] *= -128;
    memcpy(to + whole + 2, sum, sizeof sum);
    return true;
}
/* Rows of bytes, some at a time, by tiles. */
static void add_by_tiles(const Simd *simd, LevelPanel p, int64_t rows) {
    int32_t sum[3 * TILE_ROWS_MOST * PANEL];
    for (int64_t n; rows > 0; rows -= n) {
        n = rows < TILE_ROWS_MOST ? rows : TILE_ROWS_MOST;
        processor_multiply_tiles(sum, (const int8_t *)p.a, p.as * (int64_t)sizeof *p.a, n, p.word,
                                 p.words);
        simd->add_planes(&p, sum, n);
        p.a += n * p.as, p.sums += n * p.ss, p.y += n * p.ys;
    }
}
void levels_add(const Simd *simd, const Levels *l, int64_t k, float *y, int64_t ys,
                const float *rows, int64_t n, bool bytes) {
    const float *panel = l->packed + (size_t)k * panel_floats(l);
    const LevelPanel p = {.word = (const uint32_t *)(const void *)panel,
                          .scale = panel + l->words * PANEL,
                          .offset = l->shifted ? panel + (l->words + l->blocks) * PANEL : NULL,
                          .words = l->words,
                          .block = l->block / terms_of_word(l),
                          .a = rows,
                          .sums = rows + padded_terms(l),
                          .y = y,
                          .as = levels_row(l),
                          .ss = levels_row(l),
                          .ys = ys};
    if (bytes && l->tiles && n >= LEAST_OF_TILE) add_by_tiles(simd, p, n);
    else if (bytes) simd->levels_by_bytes(&p, n);
    else simd->levels[l->bits / 4 - 1](&p, n);
}

/* ---- matrix products */
typedef struct LevelProduct {
    Levels weights;
    View y, x; /* [rows, columns], [rows, terms] */
    Tail tail;
    size_t rows; /* an offset into the scratch memory: the rows as levels_enter makes them */
    int parts;   /* how many threads share the panels */
} LevelProduct;
typedef struct LevelRun {
    const LevelProduct *p;
    const Simd *simd;
    const float *rows;
    float *y;
} LevelRun;
static void run_panels(void *job, int part) {
    const LevelRun *run = job;
    const LevelProduct *p = run->p;
    const Levels *l = &p->weights;
    const int64_t n = p->y.dim[0], to = l->panels * (part + 1) / p->parts;
    for (int64_t k = l->panels * part / p->parts; k < to; k++) {
        float sum[LEVEL_ROWS * PANEL] = {0};
        const int64_t left = l->columns - k * PANEL, width = left < PANEL ? left : PANEL;
        levels_add(run->simd, l, k, sum, PANEL, run->rows, n, false);
        for (int64_t r = 0; r < n; r++)
            memcpy(run->y + r * p->y.stride[0] + k * PANEL, sum + r * PANEL,
                   (size_t)width * sizeof *sum);
    }
}
static int levels_run(const Kernel *k, void *const slot[], void *work) {
    const LevelProduct *p = k->self;
    const Simd *simd = k->device->simd;
    const float *x = view_at(&p->x, slot, work);
    float *rows = (float *)(void *)((char *)work + p->rows);
    for (int64_t r = 0; r < p->x.dim[0]; r++)
        levels_enter(simd, &p->weights, rows + r * levels_row(&p->weights), x + r * p->x.stride[0],
                     p->x.stride[1]);
    LevelRun run = {p, simd, rows, view_at(&p->y, slot, work)};
    if (p->parts > 1) team_run(k->device->team, p->parts, run_panels, &run);
    else run_panels(&run, 0);
    tail_run(&p->tail, slot, work);
    return 0;
}
/* Whether the step multiplies few rows of floats by one matrix of weights. Sums that must be exact
   (which an epilogue rounds first) are left to other algorithms. */
static bool takes_product(const Step *s, View flat[3]) {
    const bool exact = s->ncode > 1 && s->code[1].op == C_ROUND;
    for (int i = 0; i < 3; i++)
        if (s->view[i].dtype != DT_FLOAT || view_count(&s->view[i]) == 0) return false;
    return !exact && !step_has_zero(s) && gemm_flatten(s, flat) && flat[0].rank == 2 &&
           levels_worth(flat[0].dim[0], view_count(&flat[2]));
}
bool levels_gemm_build(Build *b, Kernel *k) {
    View flat[3], into[3];
    if (!takes_product(b->step, flat)) return false;
    LevelProduct *p = ARENA_NEW(b->arena, LevelProduct, 1);
    if (!levels_pack(b, 2, &flat[2], &p->weights)) return false;
    if (!tail_new(b, DT_FLOAT, TAIL_DENSE, &p->tail)) return false;
    const View views[3] = {p->tail.into, b->step->view[1], b->step->view[2]};
    Step there = *b->step;
    there.view = views;
    if (!gemm_flatten(&there, into) || into[0].rank != 2) return false;
    p->y = into[0], p->x = flat[1];
    const int64_t rows = p->y.dim[0], weights = view_count(&flat[2]);
    p->rows = build_bytes(b, (size_t)(rows * levels_row(&p->weights)) * sizeof(float));
    p->parts = count_parts(b, p->weights.panels, weights * (rows + 2), 0.02);
    k->self = p, k->run = levels_run;
    b->kernel->packed = 1 << 2;
    return true;
}
