/* ops_panels.c -- tests convolutions and products by packed panels of weights (panels.c), batches
   of products whose factors are not known (batches.c, onerow.c), 3x3 convolutions by tiles
   (winograd.c) and depthwise convolutions by vectors of channels (depthwise.c), in every
   instruction set that the machine has. Random sizes, windows, layouts and epilogues are compared
   with sums in double precision; three threads give the same bytes, and wrong inner loops are
   noticed. */
#include "ops/base/random.h"
#include "test/shared/simd_tables.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CASES = 350, NOTICED = 150, CODE = 16, GAP = 5 };
enum { Y, INPUT, WEIGHTS, BIAS, ADDED, FACTOR, VIEWS };
typedef enum Epilogue {
    NONE,
    BIASED,
    RELU,
    CLIP,
    CLIP_LOW_LAST,
    RELU_6,
    HARD_SWISH,
    HARD_SWISH_OF_SIXTHS, /* as the operator HardSwish is defined */
    STEEPER_GATE,         /* nearly a hard swish, but steeper */
    SILU,
    GELU,
    ADD_RELU,
    TANH,
    SCALED,
    EPILOGUES
} Epilogue;
typedef struct Drawn {
    Random random;
    Step step;
    View view[VIEWS];
    int64_t param[1 + 4 * STEP_SPATIAL];
    Scalar code[CODE];
    Epilogue epilogue;
    bool tiled;   /* a 3x3 convolution with stride 1, as for Winograd's method */
    bool plain;   /* the output's channels are not adjacent */
    bool unknown; /* the weights are not known, and each batch has its own */
    float *slot[VIEWS];
    size_t bytes; /* of slot Y */
    double *want; /* the results, in row-major order of view Y */
} Drawn;

static int64_t draw(Drawn *t, int64_t low, int64_t high) {
    return low + (int64_t)random_below(&t->random, (uint64_t)(high - low + 1));
}
static int64_t pick(Drawn *t, int n, const int64_t of[]) { return of[draw(t, 0, n - 1)]; }

/* Allocates view k with a gap after it and fills both with random numbers. */
static void fill(Drawn *t, int k) {
    int64_t low, high;
    View *v = &t->view[k];
    v->slot = k, v->dtype = DT_FLOAT;
    view_extent(v, &low, &high);
    t->slot[k] = test_malloc(sizeof(float) * (size_t)(high + GAP));
    for (int64_t i = 0; i < high + GAP; i++)
        t->slot[k][i] = (float)(random_unit(&t->random) * 2 - 1);
    if (k == Y) t->bytes = sizeof(float) * (size_t)(high + GAP);
}
/* An image whose channels are adjacent, sometimes as a part of more channels; if not `last`, a
   dense one. */
static View image(Drawn *t, int n, const int64_t dim[], bool last) {
    View v = view_dense(0, DT_FLOAT, 2 + n, dim);
    const int64_t pixel = dim[1] + (draw(t, 0, 2) ? 0 : draw(t, 1, 9));
    if (!last) return v;
    v.stride[1] = 1, v.stride[1 + n] = pixel;
    for (int a = n; a > 1; a--) v.stride[a] = dim[a + 1] * v.stride[a + 1];
    v.stride[0] = dim[2] * v.stride[2];
    v.offset = draw(t, 0, pixel - dim[1]);
    return v;
}
static int add_code(Drawn *t, int op, int a, int b, double k) {
    t->code[t->step.ncode] = (Scalar){.op = (uint8_t)op, .a = (uint8_t)a, .b = (uint8_t)b, .k = k};
    return t->step.ncode++;
}
static double apply(Epilogue e, double x) {
    switch (e) {
    case RELU:
    case ADD_RELU: return x > 0 ? x : 0;
    case CLIP_LOW_LAST:
    case CLIP: return fmin(fmax(x, -0.5), 1.5);
    case RELU_6: return fmin(fmax(x, 0), 6);
    case STEEPER_GATE: return x * fmin(fmax(0.2 * x + 0.5, 0), 1);
    case HARD_SWISH_OF_SIXTHS:
    case HARD_SWISH: return x * fmin(fmax(x + 3, 0), 6) / 6;
    case SILU: return x / (1 + exp(-x));
    case GELU: return 0.5 * x * (1 + erf(x * sqrt(0.5)));
    case TANH: return tanh(x);
    default: return x;
    }
}
static void add_epilogue(Drawn *t) {
    int x = add_code(t, C_ACC, 0, 0, 0), z;
    const Epilogue e = t->epilogue;
    if (e == NONE) return;
    if (e == SCALED) x = add_code(t, C_MUL, x, add_code(t, C_VIEW, FACTOR, 0, 0), 0);
    x = add_code(t, C_ADD, x, add_code(t, C_VIEW, BIAS, 0, 0), 0);
    if (e == ADD_RELU) x = add_code(t, C_ADD, add_code(t, C_VIEW, ADDED, 0, 0), x, 0);
    if (e == RELU || e == ADD_RELU) add_code(t, C_RELU, x, 0, 0);
    if (e == TANH) add_code(t, C_TANH, x, 0, 0);
    if (e == SILU) add_code(t, C_MUL, x, add_code(t, C_SIGMOID, x, 0, 0), 0);
    if (e == CLIP)
        x = add_code(t, C_MAX, x, add_code(t, C_CONST, 0, 0, -0.5), 0),
        add_code(t, C_MIN, x, add_code(t, C_CONST, 0, 0, 1.5), 0);
    if (e == CLIP_LOW_LAST)
        x = add_code(t, C_MIN, x, add_code(t, C_CONST, 0, 0, 1.5), 0),
        add_code(t, C_MAX, add_code(t, C_CONST, 0, 0, -0.5), x, 0);
    if (e == RELU_6)
        add_code(t, C_MIN, add_code(t, C_RELU, x, 0, 0), add_code(t, C_CONST, 0, 0, 6), 0);
    if (e == HARD_SWISH_OF_SIXTHS || e == STEEPER_GATE) {
        z = add_code(t, C_CONST, 0, 0, e == STEEPER_GATE ? 0.2 : 1.0 / 6);
        z = add_code(t, C_ADD, add_code(t, C_MUL, z, x, 0), add_code(t, C_CONST, 0, 0, 0.5), 0);
        z = add_code(t, C_MIN, add_code(t, C_CONST, 0, 0, 1), z, 0);
        add_code(t, C_MUL, x, add_code(t, C_MAX, add_code(t, C_CONST, 0, 0, 0), z, 0), 0);
    }
    if (e == HARD_SWISH) {
        z = add_code(t, C_RELU, add_code(t, C_ADD, x, add_code(t, C_CONST, 0, 0, 3), 0), 0, 0);
        z = add_code(t, C_MIN, z, add_code(t, C_CONST, 0, 0, 6), 0);
        add_code(t, C_DIV, add_code(t, C_MUL, x, z, 0), add_code(t, C_CONST, 0, 0, 6), 0);
    }
    if (e == GELU) {
        z = add_code(t, C_MUL, x, add_code(t, C_CONST, 0, 0, sqrt(0.5)), 0);
        z = add_code(t, C_ADD, add_code(t, C_ERF, z, 0, 0), add_code(t, C_CONST, 0, 0, 1), 0);
        z = add_code(t, C_MUL, add_code(t, C_MUL, x, z, 0), add_code(t, C_CONST, 0, 0, 0.5), 0);
    }
}
/* Adds the remaining views, the epilogue and the data. The bias and the factor run along the axis;
   the added tensor lies as y does, the rest densely. */
static void finish_views(Drawn *t, int axis) {
    const View *y = &t->view[Y];
    for (int k = BIAS; k < VIEWS; k++) {
        t->view[k] = k == ADDED ? *y : view_dense(k, DT_FLOAT, y->rank, y->dim);
        for (int a = 0; a < y->rank && k != ADDED; a++) t->view[k].stride[a] = a == axis;
    }
    for (int k = 0; k < VIEWS; k++) fill(t, k);
    t->epilogue = (Epilogue)draw(t, 0, EPILOGUES - 1);
    t->step.nview = VIEWS, t->step.view = t->view, t->step.param = t->param;
    add_epilogue(t);
    t->step.code = t->code;
    if (t->epilogue == NONE) t->step.ncode = 0;
    t->want = test_malloc(sizeof(double) * (size_t)view_count(y));
}
static double at(const Drawn *t, int k, const int64_t index[]) {
    int64_t place = t->view[k].offset;
    for (int a = 0; a < t->view[k].rank; a++) place += index[a] * t->view[k].stride[a];
    return (double)t->slot[k][place];
}
static double ended(const Drawn *t, const int64_t index[], double sum) {
    if (t->epilogue == NONE) return sum;
    if (t->epilogue == SCALED) sum *= at(t, FACTOR, index);
    sum += at(t, BIAS, index);
    return apply(t->epilogue, t->epilogue == ADD_RELU ? sum + at(t, ADDED, index) : sum);
}
static bool next(const View *v, int64_t index[]) {
    for (int a = v->rank - 1; a >= 0; a--) {
        if (++index[a] < v->dim[a]) return true;
        index[a] = 0;
    }
    return false;
}

static double window_sum(const Drawn *t, const int64_t y[]) {
    const View *x = &t->view[INPUT], *w = &t->view[WEIGHTS];
    const int n = x->rank - 2;
    const int64_t *p = t->param + 1;
    const int64_t first = y[1] / (w->dim[0] / t->param[0]) * w->dim[1]; /* channel of its group */
    int64_t k[STEP_RANK] = {y[1]}, place[STEP_RANK] = {y[0]};
    View cells = *w;
    double sum = 0;
    cells.dim[0] = 1;
    do {
        bool within = true;
        k[0] = y[1], place[1] = first + k[1];
        for (int a = 0; a < n; a++) {
            place[2 + a] = y[2 + a] * p[a] - p[n + a] + k[2 + a] * p[3 * n + a];
            within = within && place[2 + a] >= 0 && place[2 + a] < x->dim[2 + a];
        }
        if (within) sum += at(t, INPUT, place) * at(t, WEIGHTS, k);
        k[0] = 0;
    } while (next(&cells, k));
    return sum;
}
/* Draws a convolution with n spatial axes, and computes its results. Given are the number of groups
   and the input and output channels of each group. */
static void draw_windows(Drawn *t, int n, int64_t groups, int64_t ins, int64_t outs) {
    const int64_t kernels[] = {1, 1, 2, 3, 5}, most = n > 2      ? 6
                                                      : n > 1    ? 11 + 8 * t->plain
                                                      : t->plain ? 120
                                                                 : 40;
    int64_t x[5] = {draw(t, 1, 2), groups * ins}, y[5] = {x[0], groups * outs}, w[5] = {y[1], ins},
            *p = t->param + 1;
    t->param[0] = groups;
    for (int a = 0; a < n; a++) {
        x[2 + a] = draw(t, t->tiled ? 3 : 1, most), w[2 + a] = t->tiled ? 3 : pick(t, 5, kernels);
        p[a] = t->tiled ? 1 : draw(t, 1, 3), p[3 * n + a] = t->tiled ? 1 : draw(t, 1, 2);
        p[n + a] = draw(t, 0, 2), p[2 * n + a] = draw(t, 0, 2);
        const int64_t reach = (w[2 + a] - 1) * p[3 * n + a] + 1;
        if (reach > x[2 + a] + p[n + a] + p[2 * n + a]) p[n + a] = reach; /* enough padding */
        y[2 + a] = (x[2 + a] + p[n + a] + p[2 * n + a] - reach) / p[a] + 1;
    }
    t->view[Y] = image(t, n, y, !t->plain);
    t->view[INPUT] = image(t, n, x, !t->plain && (ins == 1 || draw(t, 0, 3) > 0));
    t->view[WEIGHTS] = view_dense(WEIGHTS, DT_FLOAT, 2 + n, w);
    t->step.kind = S_CONV, t->step.nparam = 1 + 4 * n;
    finish_views(t, 1);
    int64_t index[STEP_RANK] = {0}, place = 0;
    do t->want[place++] = ended(t, index, window_sum(t, index));
    while (next(&t->view[Y], index));
}
static void draw_conv(Drawn *t) {
    const int64_t ins[] = {1, 3, 8, 16, 17, 40}, outs[] = {16, 17, 24, 40, 64, 100, 130},
                  groups = draw(t, 0, 2) ? 1 : draw(t, 2, 4);
    if (draw(t, 0, 14)) draw_windows(t, 2, groups, pick(t, 6, ins), pick(t, 7, outs));
    else draw_windows(t, 2, 1, draw(t, 460, 520), draw(t, 16, 17)); /* sums in parts */
}
static void draw_tiles(Drawn *t) {
    const int64_t ins[] = {16, 17, 24, 40}, outs[] = {16, 17, 24, 40, 64, 100, 130};
    t->tiled = true;
    draw_windows(t, 2, 1, pick(t, 4, ins), pick(t, 7, outs));
}
static void draw_depthwise(Drawn *t) {
    const int64_t channels[] = {2, 5, 8, 16, 17, 40, 100, 130};
    draw_windows(t, (int)draw(t, 1, 3), pick(t, 8, channels), 1, 1);
}
static void draw_plain(Drawn *t) {
    const int64_t ins[] = {1, 1, 2, 3, 7}, outs[] = {2, 3, 4, 5, 8, 9, 11};
    t->plain = true;
    if (draw(t, 0, 7))
        draw_windows(t, (int)draw(t, 1, 3), draw(t, 0, 2) ? 1 : 3, pick(t, 5, ins),
                     pick(t, 7, outs));
    else draw_windows(t, 1, draw(t, 1, 2), draw(t, 17, 60), draw(t, 3, 12));
}
static void draw_gemm(Drawn *t) {
    const int64_t rows[] = {1, 1, 2, 7, 29, 64, 8, 9}, terms[] = {1, 5, 33, 200},
                  columns[] = {16, 17, 24, 63, 64, 65, 96, 200};
    const bool single = t->unknown && draw(t, 0, 1), column = single && draw(t, 0, 1),
               parts = !single && draw(t, 0, 7) == 0;
    const int64_t b = draw(t, 1, 2),
                  m = column       ? draw(t, 1, 300)
                      : single     ? 1
                      : t->unknown ? rows[draw(t, 4, 7)]
                      : parts      ? draw(t, 1, 20)
                                   : pick(t, 6, rows),
                  k = single  ? draw(t, column ? 20 : 180, 300)
                      : parts ? draw(t, 4000, 7000)
                              : pick(t, 4, terms),
                  n = column   ? 1
                      : single ? draw(t, 180, 300)
                               : pick(t, 8, columns),
                  wide = n + (draw(t, 0, 1) ? 3 : 0);
    t->view[Y] = view_dense(Y, DT_FLOAT, 3, (const int64_t[]){b, m, n});
    t->view[Y].stride[1] = wide, t->view[Y].stride[0] = m * wide;
    t->view[INPUT] = view_dense(INPUT, DT_FLOAT, 3, (const int64_t[]){b, m, k});
    t->view[WEIGHTS] = view_dense(WEIGHTS, DT_FLOAT, 3, (const int64_t[]){b, k, n});
    t->view[WEIGHTS].stride[0] = 0;
    if (draw(t, 0, 1)) t->view[WEIGHTS].stride[1] = 1, t->view[WEIGHTS].stride[2] = k;
    else if (t->unknown && !single &&
             draw(t, 0, 1)) /* every second element of columns that are adjacent in memory */
        t->view[WEIGHTS].stride[1] = 2, t->view[WEIGHTS].stride[2] = 2 * k + 3;
    if (t->unknown) t->view[WEIGHTS].stride[0] = draw(t, 0, 1) ? 2 * k * n + 3 * n : 5;
    if (column && draw(t, 0, 1)) /* a matrix whose columns are adjacent in memory */
        t->view[INPUT].stride[1] = 1, t->view[INPUT].stride[2] = m;
    t->step.kind = S_GEMM;
    finish_views(t, 2);
    int64_t index[3] = {0}, place = 0;
    do {
        double sum = 0;
        for (int64_t i = 0; i < k; i++)
            sum += at(t, INPUT, (const int64_t[]){index[0], index[1], i}) *
                   at(t, WEIGHTS, (const int64_t[]){index[0], i, index[2]});
        t->want[place++] = ended(t, index, sum);
    } while (next(&t->view[Y], index));
}
static void draw_case(Drawn *t, uint64_t seed) {
    *t = (Drawn){.random = {.seed = seed}};
    const int64_t kind = draw(t, 0, 6);
    t->unknown = kind == 5;
    switch (kind) {
    case 0:
    case 5: draw_gemm(t); break;
    case 1: draw_depthwise(t); break;
    case 2: draw_tiles(t); break;
    case 6: draw_plain(t); break;
    default: draw_conv(t);
    }
}
static void free_case(Drawn *t) {
    for (int k = 0; k < VIEWS; k++) test_free(t->slot[k]);
    test_free(t->want);
}

/* Runs a choice. Returns false if it does not pack known weights: on a device without oneDNN, only
   panels, tiles and vectors of channels do. */
static bool run(const Drawn *t, Device *d, int choice) {
    extern const Backend cpu_backend;
    const void *known[VIEWS] = {NULL,          NULL, t->unknown ? NULL : t->slot[WEIGHTS],
                                t->slot[BIAS], NULL, t->slot[FACTOR]};
    size_t room;
    char why[200];
    Kernel *k = cpu_backend.compile(d, &t->step, choice, known, &room, NULL, why, sizeof why);
    if (!k || (!t->unknown && !cpu_backend.keeps_view(k, WEIGHTS))) {
        cpu_backend.forget(k);
        return false;
    }
    void *slot[VIEWS], *work = cpu_backend.alloc(d, room + 1);
    for (int i = 0; i < VIEWS; i++) slot[i] = i == WEIGHTS && !t->unknown ? NULL : t->slot[i];
    memset(t->slot[Y], 0x55, t->bytes);
    assert_int_equal(cpu_backend.run(k, slot, work), 0);
    cpu_backend.release(d, work);
    cpu_backend.forget(k);
    return true;
}
/* The number of wrong elements plus the number of bytes written outside them. */
static int64_t count_wrong(const Drawn *t) {
    const View *y = &t->view[Y];
    int64_t index[STEP_RANK] = {0}, n = 0, wrong = 0;
    char *seen = test_malloc(t->bytes);
    memset(seen, 0, t->bytes);
    do {
        int64_t place = y->offset;
        for (int a = 0; a < y->rank; a++) place += index[a] * y->stride[a];
        const double want = t->want[n++], got = (double)t->slot[Y][place];
        memset(seen + 4 * place, 1, 4);
        wrong += !(fabs(want - got) <= 1e-4 * (1 + fabs(want)));
    } while (next(y, index));
    for (size_t i = 0; i < t->bytes; i++) wrong += !seen[i] && ((char *)t->slot[Y])[i] != 0x55;
    test_free(seen);
    return wrong;
}

/* Checks every choice that packs the weights and returns their number. */
static int check_choices(const Drawn *t, uint64_t seed) {
    extern const Backend cpu_backend;
    int packed = 0;
    for (int choice = 0; choice < cpu_backend.choices(one, &t->step); choice++) {
        if (!run(t, one, choice)) continue;
        if (count_wrong(t))
            fail_msg("%s, case %d, choice %d, epilogue %d: %d wrong", one->simd->name, (int)seed,
                     choice, (int)t->epilogue, (int)count_wrong(t));
        float *first = memcpy(test_malloc(t->bytes), t->slot[Y], t->bytes);
        assert_true(run(t, three, choice));
        assert_memory_equal(first, t->slot[Y], t->bytes);
        test_free(first);
        packed++;
    }
    return packed;
}
static void panels_agree_with_sums_in_double(void **state) {
    (void)state;
    for (int i = 0; i < tables; i++)
        for (uint64_t seed = 0; seed < CASES; seed++) {
            Drawn t;
            draw_case(&t, seed);
            one->simd = three->simd = table[i];
            assert_true(check_choices(&t, seed) >= (t.tiled ? 2 : 1));
            free_case(&t);
        }
}

/* A sweep without its last term; one without the sum of the parts before; one without the
   epilogue. */
static const float *short_sweep(const Sweep *s, int vectors, int64_t rows) {
    Sweep wrong = *s;
    if (s->n > 1) wrong.n--, wrong.runs = 1;
    return table[0]->sweep(&wrong, vectors, rows);
}
static const float *forgetful_sweep(const Sweep *s, int vectors, int64_t rows) {
    Sweep wrong = *s;
    if (s->add == s->y) wrong.add = NULL;
    return table[0]->sweep(&wrong, vectors, rows);
}
static const float *bare_sweep(const Sweep *s, int vectors, int64_t rows) {
    Sweep wrong = *s;
    wrong.add = NULL, wrong.squash = (Squash){.low = -INFINITY, .high = INFINITY};
    return table[0]->sweep(&wrong, vectors, rows);
}
/* Windows without their first cell. */
static void short_windows(const ChannelWindows *s) {
    ChannelWindows wrong = *s;
    if (s->taps > 0) wrong.taps--, wrong.tap++, wrong.cell++;
    table[0]->windows(&wrong);
}
/* Tiles that read another place of the image; and tiles without the epilogue. */
static void wrong_enter(float *y, int64_t ys, const float *const cell[], int64_t channels) {
    const float *wrong[WINOGRAD_POINTS];
    for (int i = 0; i < WINOGRAD_POINTS; i++) wrong[i] = cell[i == 14 ? 15 : i];
    table[0]->winograd_enter(y, ys, wrong, channels);
}
static void bare_leave(const WinogradTile *s) {
    WinogradTile wrong = *s;
    wrong.add = NULL, wrong.squash = (Squash){.low = -INFINITY, .high = INFINITY};
    table[0]->winograd_leave(&wrong);
}
/* Windows of channels without their last cell; and without the epilogue. */
static void short_channels(const TapChannels *s) {
    TapChannels wrong = *s;
    if (s->taps > 1) wrong.taps--;
    table[0]->tap_channels(&wrong);
}
static void bare_channels(const TapChannels *s) {
    static const float zeros[64];
    TapChannels wrong = *s;
    wrong.shift = zeros, wrong.squash = (Squash){.low = -INFINITY, .high = INFINITY};
    table[0]->tap_channels(&wrong);
}
static void short_rows(float *y, const float *a, const float *b, int64_t bs, int64_t terms,
                       int64_t columns) {
    table[0]->row_by_rows(y, a, b, bs, terms - (terms > 1), columns);
}
static void short_columns(float *y, const float *a, const float *b, int64_t bs, int64_t terms,
                          int64_t columns) {
    table[0]->row_by_columns(y, a, b, bs, terms - (terms > 1), columns);
}
static bool notices(uint64_t seed) {
    extern const Backend cpu_backend;
    Drawn t;
    bool wrong = false;
    draw_case(&t, seed);
    for (int choice = 0; choice < cpu_backend.choices(one, &t.step); choice++)
        wrong |= run(&t, one, choice) && count_wrong(&t) > 0;
    free_case(&t);
    return wrong;
}
static void wrong_sweeps_are_caught(void **state) {
    (void)state;
    typedef const float *Wrong(const Sweep *, int, int64_t);
    static Wrong *const wrong[] = {short_sweep, bare_sweep, forgetful_sweep};
    for (int i = 0; i < 3; i++) {
        Simd simd = *table[0];
        simd.sweep = wrong[i];
        assert_true(cases_noticed(&simd, i < 2 ? NOTICED : 2 * NOTICED, notices) >
                    (i < 2 ? 10 : 1));
    }
    Simd simd = *table[0];
    simd.windows = short_windows;
    assert_true(cases_noticed(&simd, NOTICED, notices) > 10);
    simd = *table[0], simd.winograd_enter = wrong_enter;
    assert_true(cases_noticed(&simd, NOTICED, notices) > 10);
    simd = *table[0], simd.winograd_leave = bare_leave;
    assert_true(cases_noticed(&simd, NOTICED, notices) > 5);
    simd = *table[0], simd.row_by_rows = short_rows;
    assert_true(cases_noticed(&simd, 2 * NOTICED, notices) > 1);
    simd = *table[0], simd.row_by_columns = short_columns;
    assert_true(cases_noticed(&simd, 2 * NOTICED, notices) > 1);
    simd = *table[0], simd.tap_channels = short_channels;
    assert_true(cases_noticed(&simd, NOTICED, notices) > 10);
    simd = *table[0], simd.tap_channels = bare_channels;
    assert_true(cases_noticed(&simd, NOTICED, notices) > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panels_agree_with_sums_in_double),
        cmocka_unit_test(wrong_sweeps_are_caught),
    };
    return cmocka_run_group_tests(tests, open_tables, close_tables);
}
