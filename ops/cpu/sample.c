/* sample.c -- S_SAMPLE: each output element is a weighted sum over places of the input, or a copy
   of one place (see isomer_backend.h).

   The output is computed in rows along its innermost axis. First, the rows of x that the taps of
   the other axes choose are added up to one row; then the taps of the row's own axis are gathered
   from it. A short row (channels last) is joined with the axis around it, and if it fills a vector,
   all its elements are computed at once. If the image grows along just one other axis, the taps of
   the row's own axis come first, and their results for a row of x are kept for the next rows of y.

   If each place of y is a copy of one place of x, elements are moved as bytes. Neighbours that stay
   neighbours are moved together. If all elements are repeated equally often, one loop repeats them
   and writes all equal rows; otherwise a row that is equal to the one before is copied from it.
   Rows are distributed over the threads. */
#include "ops/cpu/cpu.h"
#include <string.h>

typedef struct Stretch {   /* places of the row's axis that read places of x at a constant
                              distance */
    int64_t n, from, step; /* offset of the first place in x, and distance between them */
} Stretch;
typedef struct Sample {
    View y, x;
    Operand from;
    StepTaps axis[STEP_RANK];
    int along, size, parts; /* along: the axis of the rows; size: bytes of an element of x */
    int moves;              /* not 0: elements are moved */
    ComputeClass class;
    int64_t rows;
    int32_t *place; /* of the row's axis: [taps, dim]; so is `weight` */
    void *weight;
    int64_t
        joined_length; /* elements of a row that was joined with an axis; 0: no axis was joined */
    int64_t pitch;     /* from one such row to the next in y */
    bool pixels;       /* the elements of such a row are computed at once; `pixel` and `weight` are
                          then ordered by place */
    int64_t *pixel;    /* [places, taps]: where the elements begin in the row */
    bool lines;        /* rows of x, after the taps of the row's axis, are kept */
    int64_t *offset[STEP_RANK]; /* if elements are moved: the offset in x of each place of each
                                   axis */
    Repeat *repeat;             /* repeats each element equally often; NULL: they are not */
    int64_t repeated;           /* places of x that are repeated in a row */
    int stretches;              /* 0: they are too short */
    Stretch *stretch;
    size_t row, result, line, each;
    void (*store)(void *y, int64_t stride, const void *x, int64_t n);
} Sample;
typedef struct SampleRun {
    const Sample *s;
    const Simd *simd;
    char *y, *work;
    const char *x;
} SampleRun;

static double weight_of(const StepTaps *a, int64_t i, int64_t tap) {
    double w;
    memcpy(&w, &a->pair[2 * (i * a->taps + tap) + 1], sizeof w);
    return w;
}
static int64_t place_of(const StepTaps *a, int64_t i, int64_t tap) {
    return a->taps ? a->pair[2 * (i * a->taps + tap)] : i;
}
/* Steps to the next choice of a tap for each axis other than the row's. False: that was the last
   one. */
static bool next_taps(const Sample *s, int64_t tap[]) {
    for (int a = s->y.rank - 1; a >= 0; a--) {
        if (a == s->along) continue;
        if (++tap[a] < s->axis[a].taps) return true;
        tap[a] = 0;
    }
    return false;
}
static const char *chosen_row(const SampleRun *run, const int64_t i[], const int64_t tap[],
                              double *weight) {
    const Sample *s = run->s;
    int64_t at = 0;
    *weight = 1;
    for (int a = 0; a < s->y.rank; a++) {
        if (a == s->along) continue;
        at += place_of(&s->axis[a], i[a], tap[a]) * s->x.stride[a];
        if (s->axis[a].taps) *weight *= weight_of(&s->axis[a], i[a], tap[a]);
    }
    return run->x + at * s->size;
}
static void add_scaled(const SampleRun *run, char *sum, const char *row, int64_t stride,
                       double weight, int64_t n) {
    const float single = (float)weight;
    const ComputeClass class = run->s->class;
    run->simd->scale_add[class](sum, row, stride,
                                class == CLASS_FLOAT ? (const void *)&single : &weight, n);
}
static void move_row(const SampleRun *run, const char *x, char *y) {
    static const int64_t none = 0;
    const Sample *s = run->s;
    const int64_t ys = s->y.stride[s->along], n = s->y.dim[s->along];
    if (!s->stretches) {
        move_elements(s->size, y, ys, x, 0, s->offset[s->along], 1, n);
        return;
    }
    for (int k = 0; k < s->stretches; k++) {
        const Stretch *p = &s->stretch[k];
        const char *from = x + p->from * s->size;
        if (p->step == 1 && ys == 1) memcpy(y, from, (size_t)(p->n * s->size));
        else move_elements(s->size, y, ys, from, p->step, &none, 0, p->n);
        y += p->n * ys * s->size;
    }
}
/* The last LINES rows of x to which the taps of the row's own axis were applied, as a ring. */
enum { LINES = 8 };
typedef struct Lines {
    const char *of[LINES]; /* the rows of x; NULL: none yet */
    int next;              /* the entry that is replaced next */
} Lines;
static const char *line_of(const SampleRun *run, const char *x, char *work, Lines *l) {
    const Sample *s = run->s;
    const int64_t from = s->x.dim[s->along], n = s->y.dim[s->along];
    char *line = work + s->line, *row = work + s->row;
    for (int k = 0; k < LINES; k++)
        if (l->of[k] == x) return line + k * n * s->size;
    line += l->next * n * s->size, l->of[l->next] = x, l->next = (l->next + 1) % LINES;
    memset(row, 0, (size_t)(from * s->size));
    add_scaled(run, row, x, s->x.stride[s->along], 1, from);
    run->simd->blend[s->class](line, row, s->place, s->weight, s->axis[s->along].taps, n);
    return line;
}
/* Adds up the rows of x that the taps choose, in the class's type. l not NULL: the rows after the
   taps of their own axis. */
static void add_taps(const SampleRun *run, const int64_t i[], char *sum, char *work, Lines *l) {
    const Sample *s = run->s;
    const int64_t n = (l ? &s->y : &s->x)->dim[s->along], stride = l ? 1 : s->x.stride[s->along];
    int64_t tap[STEP_RANK] = {0};
    memset(sum, 0, (size_t)(n * s->size));
    do {
        double weight;
        const char *x = chosen_row(run, i, tap, &weight);
        if (weight != 0) add_scaled(run, sum, l ? line_of(run, x, work, l) : x, stride, weight, n);
    } while (next_taps(s, tap));
}
static void run_row(const SampleRun *run, const int64_t i[], char *y, char *work, Lines *l) {
    const Sample *s = run->s;
    const int64_t n = s->y.dim[s->along], ys = s->y.stride[s->along];
    const StepTaps *own = &s->axis[s->along];
    char *row = work + s->row, *result = work + s->result;
    if (s->lines) {
        add_taps(run, i, result, work, l);
        s->store(y, ys, result, n);
        return;
    }
    add_taps(run, i, row, work, NULL);
    if (s->pixels) {
        const bool whole = s->y.dtype == DT_FLOAT;
        run->simd->blend_pixels((float *)(void *)(whole ? y : result),
                                whole ? s->pitch : s->joined_length,
                                (const float *)(const void *)row, s->pixel, s->weight, own->taps,
                                n / s->joined_length, s->joined_length);
        if (!whole) s->store(y, 1, result, n);
        return;
    }
    if (own->taps) run->simd->blend[s->class](result, row, s->place, s->weight, own->taps, n);
    s->store(y, ys, own->taps ? result : row, n);
}
/* A row of y: its index on each other axis and its offset in y and, if elements are moved, in x. */
typedef struct RowPlace {
    int64_t i[STEP_RANK], y, x;
} RowPlace;
static void find_row(const Sample *s, int64_t r, RowPlace *p) {
    *p = (RowPlace){.y = 0};
    for (int a = s->y.rank - 1; a >= 0; a--) {
        if (a == s->along) continue;
        p->i[a] = r % s->y.dim[a], r /= s->y.dim[a];
        p->y += p->i[a] * s->y.stride[a];
        if (s->moves) p->x += s->offset[a][p->i[a]];
    }
}
static void step_row(const Sample *s, RowPlace *p) {
    for (int a = s->y.rank - 1; a >= 0; a--) {
        if (a == s->along) continue;
        const int64_t before = p->i[a], now = before + 1 < s->y.dim[a] ? before + 1 : 0;
        p->i[a] = now;
        p->y += (now - before) * s->y.stride[a];
        if (s->moves) p->x += s->offset[a][now] - s->offset[a][before];
        if (now) return;
    }
}
/* Writes rows r..end-1, in which each place is repeated. Rows that follow each other and are equal
   are written by one call. */
static void repeat_rows(const SampleRun *run, int64_t r, int64_t end) {
    const Sample *s = run->s;
    RowPlace p;
    find_row(s, r, &p);
    while (r < end) {
        const int64_t y = p.y, x = p.x;
        int64_t rows = 1, stride = 0;
        for (step_row(s, &p); r + rows < end && p.x == x; rows++, step_row(s, &p)) {
            if (rows == 1) stride = p.y - y;
            else if (p.y != y + rows * stride) break;
        }
        s->repeat(run->y + y * s->size, stride, rows, run->x + x * s->size, s->repeated);
        r += rows;
    }
}
static void run_sample_part(void *job, int k) {
    const SampleRun *run = job;
    const Sample *s = run->s;
    const int size = dtype_size(s->y.dtype);
    const int64_t end = s->rows * (k + 1) / s->parts;
    const bool together = s->y.stride[s->along] == 1;
    char *work = run->work + (size_t)k * s->each, *before = NULL;
    const char *from = NULL;
    int64_t r = s->rows * k / s->parts;
    Lines lines = {{NULL}, 0};
    RowPlace p;
    if (s->repeat) {
        repeat_rows(run, r, end);
        return;
    }
    find_row(s, r, &p);
    for (; r < end; r++, step_row(s, &p)) {
        char *y = run->y + p.y * size;
        const char *x = run->x + p.x * s->size;
        if (!s->moves) run_row(run, p.i, y, work, &lines);
        else if (together && before && x == from)
            memcpy(y, before, (size_t)(s->y.dim[s->along] * size));
        else move_row(run, x, y);
        before = y, from = x;
    }
}
static int sample_run(const Kernel *k, void *const slot[], void *work) {
    const Sample *s = k->self;
    SampleRun run = {s, k->device->simd, view_at(&s->y, slot, work), work,
                     operand_at(&s->from, slot, work)};
    team_run(k->device->team, s->parts, run_sample_part, &run);
    return 0;
}

/* ---- making */
static int sample_choices(const Device *d, const Step *s) {
    (void)d;
    const View *y = &s->view[0], *x = &s->view[1];
    StepTaps axis[STEP_RANK];
    int moves;
    if (x->rank != y->rank || x->dtype != y->dtype || y->rank < 1 || !step_sample(s, axis, &moves))
        return 0;
    const int size = dtype_size(y->dtype);
    return moves ? size == 1 || size == 2 || size == 4 || size == 8
                 : dtype_numeric(y->dtype) && (dtype_class((DType)y->dtype) == 'F' || size < 8);
}
/* Lists the places and weights of the row's axis tap by tap. */
static void lay_out_taps(Build *b, Sample *s) {
    const StepTaps *own = &s->axis[s->along];
    const int64_t n = s->y.dim[s->along], taps = own->taps;
    s->place = ARENA_NEW(b->arena, int32_t, n * taps);
    s->weight = arena_alloc(b->arena, (size_t)(n * taps) * sizeof(double));
    for (int64_t i = 0; i < n; i++)
        for (int64_t t = 0; t < taps; t++) {
            s->place[t * n + i] = (int32_t)place_of(own, i, t);
            if (s->class == CLASS_FLOAT)
                ((float *)s->weight)[t * n + i] = (float)weight_of(own, i, t);
            else ((double *)s->weight)[t * n + i] = weight_of(own, i, t);
        }
}
/* Lists them place by place; all elements of a pixel have the same ones. */
static void lay_out_pixels(Build *b, Sample *s) {
    const StepTaps *own = &s->axis[s->along];
    const int64_t places = s->y.dim[s->along] / s->joined_length, taps = own->taps;
    float *weight = ARENA_NEW(b->arena, float, places *taps);
    s->pixel = ARENA_NEW(b->arena, int64_t, places * taps), s->weight = weight;
    for (int64_t i = 0; i < places; i++)
        for (int64_t t = 0; t < taps; t++) {
            s->pixel[i * taps + t] = place_of(own, i * s->joined_length, t);
            weight[i * taps + t] = (float)weight_of(own, i * s->joined_length, t);
        }
}
enum { SHORT = 4 }; /* with fewer places per stretch, single moves are as fast */
/* Whether a row consists of places 0, 1, .. of x, each repeated k times. */
static bool repeated(const Sample *s, int64_t k) {
    const int64_t n = s->y.dim[s->along], *at = s->offset[s->along];
    if (s->y.stride[s->along] != 1 || n % k) return false;
    for (int64_t i = 0; i < n; i++)
        if (at[i] != i / k) return false;
    return true;
}
static void lay_out_moves(Build *b, Sample *s) {
    for (int a = 0; a < s->y.rank; a++) {
        s->offset[a] = ARENA_NEW(b->arena, int64_t, s->y.dim[a]);
        for (int64_t i = 0; i < s->y.dim[a]; i++)
            s->offset[a][i] = place_of(&s->axis[a], i, 0) * s->x.stride[a];
    }
    const int64_t n = s->y.dim[s->along], *at = s->offset[s->along];
    s->stretch = ARENA_NEW(b->arena, Stretch, n);
    for (int64_t i = 0; i < n; i++) {
        Stretch *p = s->stretches ? &s->stretch[s->stretches - 1] : NULL;
        if (p && p->n == 1) p->step = at[i] - at[i - 1];
        if (p && at[i] - at[i - 1] == p->step) p->n++;
        else s->stretch[s->stretches++] = (Stretch){1, at[i], 0};
    }
    if (s->stretches * SHORT > n) s->stretches = 0;
    for (int64_t k = 2; k < SIMD_WEAVES && !s->repeat; k++)
        if (repeated(s, k)) s->repeat = repeat_of(b->device->simd, s->size, k), s->repeated = n / k;
}
/* Whether sums of weighted bytes are exact in floats. This is so if weights are multiples of 1/128
   on at most two axes, because the sums are then multiples of 2^-14 below 2^9, as in interpolation
   by a factor of 2, 4, .. 64. */
static bool exact_in_floats(const Sample *s) {
    int axes = 0;
    if (!dtype_is_byte(s->y.dtype)) return false;
    for (int a = 0; a < s->y.rank; a++) {
        const StepTaps *t = &s->axis[a];
        axes += t->taps > 0;
        for (int64_t i = 0; i < s->y.dim[a]; i++)
            for (int64_t tap = 0; tap < t->taps; tap++) {
                const double w = 128 * weight_of(t, i, tap);
                if (w < 0 || w > 128 || w != (int)w) return false;
            }
    }
    return axes <= 2;
}
/* Whether the elements of a pixel are computed at once. Pixels of y may lie apart, as those of one
   input of a concat do, unless they are bytes. */
static bool computes_pixels(const Build *b, const Sample *s, int axis) {
    const bool together = s->y.stride[axis] == s->y.dim[s->along];
    return s->axis[axis].taps && !s->moves && s->class == CLASS_FLOAT &&
           (s->y.dtype == DT_FLOAT || (dtype_is_byte(s->y.dtype) && together)) &&
           s->y.stride[s->along] == 1 && s->y.dim[s->along] >= b->device->simd->width;
}
/* Joins a short row (channels last) with another axis into one axis, which has the other axis's
   taps. The row's own axis must have no taps, and the other axis must continue where it ends, in
   both views. */
static void join_row(Build *b, Sample *s) {
    const int own = s->along;
    const int64_t n = s->y.dim[own];
    for (int a = 0; a < s->y.rank; a++) {
        if (a == own || s->axis[own].taps || s->x.stride[a] != n * s->x.stride[own] ||
            (s->y.stride[a] != n * s->y.stride[own] && !computes_pixels(b, s, a)) ||
            s->y.dim[a] < 2)
            continue;
        s->pixels = computes_pixels(b, s, a), s->pitch = s->y.stride[a];
        const StepTaps *with = &s->axis[a];
        int64_t *pair = ARENA_NEW(b->arena, int64_t, 2 * with->taps * n * s->y.dim[a]), *at = pair;
        for (int64_t i = 0; i < s->y.dim[a] * n; i++)
            for (int64_t t = 0; t < with->taps; t++) {
                const int64_t *from = with->pair + 2 * (i / n * with->taps + t);
                *at++ = from[0] * n + i % n, *at++ = from[1];
            }
        s->axis[own] = (StepTaps){.taps = with->taps, .pair = pair}, s->axis[a] = (StepTaps){0};
        s->y.dim[own] *= s->y.dim[a], s->x.dim[own] *= s->x.dim[a];
        s->y.dim[a] = s->x.dim[a] = 1;
        s->joined_length = n;
        return;
    }
}
/* Whether rows are kept: successive rows of y read the same rows of x if the image grows along one
   axis beside the row's own. */
static bool keeps_lines(const Sample *s) {
    int axes = 0, grows = 0;
    for (int a = 0; a < s->y.rank; a++)
        if (a != s->along && s->axis[a].taps) axes++, grows += s->y.dim[a] > s->x.dim[a];
    return !s->pixels && s->axis[s->along].taps && axes == 1 && grows == 1;
}
/* Finds x in the class's type. If it must be converted, the copy has the row's axis last, as in
   y. */
static bool find_input(Build *b, Sample *s) {
    const View *x = &b->step->view[1];
    const int dtype = class_dtype(s->class), last = x->rank - 1;
    s->from = operand_as_is(b, 1);
    if (s->moves || x->dtype == dtype) return true;
    View turned = *x;
    for (int a = s->along; a < last; a++)
        turned.dim[a] = x->dim[a + 1], turned.stride[a] = x->stride[a + 1];
    turned.dim[last] = x->dim[s->along], turned.stride[last] = x->stride[s->along];
    if (!operand_pack_as(b, 1, &turned, dtype, &s->from)) return false;
    turned = s->from.view;
    for (int a = last; a > s->along; a--)
        s->from.view.dim[a] = turned.dim[a - 1], s->from.view.stride[a] = turned.stride[a - 1];
    s->from.view.dim[s->along] = turned.dim[last];
    s->from.view.stride[s->along] = turned.stride[last];
    return true;
}
static bool sample_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const Step *step = b->step;
    Sample *s = ARENA_NEW(b->arena, Sample, 1);
    Step own = *step;
    own.param = arena_copy(b->arena, step->param, sizeof *step->param * (size_t)step->nparam);
    s->y = step->view[0];
    step_sample(&own, s->axis, &s->moves);
    s->class =
        view_class(&s->y, 1) == CLASS_FLOAT || exact_in_floats(s) ? CLASS_FLOAT : CLASS_DOUBLE;
    for (int a = 0; a < s->y.rank; a++)
        if (s->y.dim[a] > 1 && (s->y.dim[s->along] == 1 || s->y.stride[a] < s->y.stride[s->along]))
            s->along = a;
    if (!find_input(b, s)) return false;
    s->x = s->from.view, s->size = dtype_size(s->x.dtype), s->rows = 1;
    join_row(b, s);
    for (int a = 0; a < s->y.rank; a++) s->rows *= a == s->along ? 1 : s->y.dim[a];
    if (s->moves) lay_out_moves(b, s);
    else {
        if (s->pixels) lay_out_pixels(b, s);
        else lay_out_taps(b, s);
        s->store = b->device->simd->store[s->class][s->y.dtype];
        s->row = build_bytes(b, (size_t)(s->x.dim[s->along] * s->size));
        s->result = build_bytes(b, (size_t)(s->y.dim[s->along] * s->size));
        s->lines = keeps_lines(s);
        if (s->lines) s->line = build_bytes(b, (size_t)(LINES * s->y.dim[s->along] * s->size));
        s->each = b->workspace - s->row;
    }
    s->parts = count_parts(b, s->rows, view_count(&s->y), 1);
    build_bytes(b, (size_t)(s->parts - 1) * s->each);
    k->run = sample_run, k->self = s;
    return true;
}
const Maker sample_maker = {.choices = sample_choices, .build = sample_build};
