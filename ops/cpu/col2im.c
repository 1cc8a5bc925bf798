/* col2im.c -- col2im of floats. Each row of the image is the sum of parts of rows of x, which are
   read in place, in the order of the elements of a block. If blocks lie k elements apart along the
   last axis, every k-th column of a row, a phase, is such a sum, and phases are interleaved
   afterwards. The rows at one place of all channels are computed together, because the same parts
   contribute to them, unless x is so large that it is better read channel by channel. Rows are
   distributed over the threads. */
#include "ops/backend/isomer_op_steps.h"
#include "ops/cpu/cpu.h"

#define NONE INT64_MIN
enum { CACHED_ELEMENTS = 1 << 18 }; /* of an image's x, so many stay in the cache */
typedef struct Col2Im {
    View y, x;
    int ns, parts;
    int64_t rows, lead, last; /* lead, last: elements of a block along all axes but the last, and
                                 along the last */
    int64_t places, planes;   /* of rows in an image; channels that are computed together. rows: the
                                 places of all images and groups of channels */
    int64_t stride, columns;  /* stride: of the last axis, the number of phases; columns: of the
                                 first phase, which has the most */
    size_t room, each;        /* scratch memory: where part 0 begins, and the bytes of a part, which
                                 are the phases of all channels */
    Weave *weave;             /* interleaves the phases; NULL: there is one */
    int64_t *line, *shift; /* line[place * lead + j]: where in x lies the line of places from which
                              element j of a block contributes to the rows at a place; shift[phase
                              * last + k]: the place of element k that contributes to the first
                              column of a phase. NONE: it does not contribute */
    const int64_t *param;
} Col2Im;
typedef struct Col2ImRun {
    const Col2Im *c;
    const Simd *simd;
    float *y;
    const float *x;
    char *work;
} Col2ImRun;

static int64_t axis_param(const Col2Im *c, int axis, int which) {
    return c->param[COL2IM_AXES + axis * COL2IM_AXIS_PARAMS + which];
}
/* Collects what contributes to a phase of the rows at a place, whatever their channel. */
static void find_terms(const Col2Im *c, int64_t place, int64_t phase, ShiftedSum *s) {
    const int64_t places = axis_param(c, c->ns - 1, COL2IM_PLACES),
                  *shift = c->shift + phase * c->last;
    s->terms = 0;
    for (int64_t lead = 0; lead < c->lead; lead++) {
        const int64_t line = c->line[place * c->lead + lead];
        for (int64_t k = 0; line != NONE && k < c->last; k++) {
            if (shift[k] == NONE) continue;
            const int64_t end = places - shift[k];
            s->offset[s->terms] = line + k * c->x.stride[1] + shift[k];
            s->low[s->terms] = shift[k] < 0 ? -shift[k] : 0;
            s->high[s->terms] = end < s->n ? end : s->n;
            s->terms += s->low[s->terms] < s->high[s->terms];
        }
    }
}
/* Interleaves the phases of a row, each of which has room for c->columns elements. */
static void join_phases(const Col2Im *c, float *y, const float *phases) {
    const int64_t n = c->y.dim[c->y.rank - 1], whole = n / c->stride;
    c->weave(y, phases, c->columns, whole);
    for (int64_t j = whole * c->stride; j < n; j++)
        y[j] = phases[j % c->stride * c->columns + whole];
}
/* Computes the rows at a place of a group of channels. */
static void run_rows(const Col2ImRun *run, int64_t place, float *y, const float *x, float *phases) {
    const Col2Im *c = run->c;
    const int64_t all = c->y.dim[c->y.rank - 1], row = c->stride * c->columns;
    for (int64_t phase = 0; phase < c->stride && phase < all; phase++) {
        ShiftedSum s = {.x = x,
                        .y = c->weave ? phases + phase * c->columns : y,
                        .xs = c->lead * c->last * c->x.stride[1],
                        .ys = c->weave ? row : c->y.stride[1],
                        .planes = c->planes,
                        .n = (all - phase + c->stride - 1) / c->stride};
        find_terms(c, place, phase, &s);
        run->simd->sum_shifted(&s);
    }
    for (int64_t p = 0; c->weave && p < c->planes; p++)
        join_phases(c, y + p * c->y.stride[1], phases + p * row);
}
static void run_col2im_part(void *job, int part) {
    const Col2ImRun *run = job;
    const Col2Im *c = run->c;
    const int64_t first = c->rows * part / c->parts, end = c->rows * (part + 1) / c->parts;
    float *phases = (float *)(void *)(run->work + c->room + (size_t)part * c->each);
    const int64_t groups = c->y.dim[1] / c->planes, all = c->lead * c->last;
    for (int64_t row = first; row < end; row++) {
        const int64_t place = row % c->places, image = row / c->places / groups,
                      channel = row / c->places % groups * c->planes;
        int64_t at = image * c->y.stride[0] + channel * c->y.stride[1], rest = place;
        for (int a = c->y.rank - 2; a > 1; rest /= c->y.dim[a--])
            at += rest % c->y.dim[a] * c->y.stride[a];
        run_rows(run, place, run->y + at,
                 run->x + image * c->x.stride[0] + channel * all * c->x.stride[1], phases);
    }
}
static int col2im_run(const Kernel *k, void *const slot[], void *work) {
    const Col2Im *c = k->self;
    Col2ImRun run = {.c = c,
                     .simd = k->device->simd,
                     .y = view_at(&c->y, slot, work),
                     .x = view_at(&c->x, slot, work),
                     .work = work};
    team_run(k->device->team, c->parts, run_col2im_part, &run);
    return 0;
}

/* ---- making */
/* Where in x lies the line of places from which element `lead` of a block contributes to the rows
   at a place. */
static int64_t line_of(const Col2Im *c, int64_t place, int64_t lead) {
    int64_t line = 0, each = axis_param(c, c->ns - 1, COL2IM_PLACES);
    const int64_t first = lead * c->last * c->x.stride[1];
    for (int j = c->ns - 2; j >= 0; j--) {
        const int64_t block = axis_param(c, j, COL2IM_BLOCK),
                      stride = axis_param(c, j, COL2IM_STRIDE), size = c->y.dim[j + 2],
                      from = place % size + axis_param(c, j, COL2IM_PAD) -
                             lead % block * axis_param(c, j, COL2IM_DILATION);
        if (from < 0 || from % stride != 0 || from / stride >= axis_param(c, j, COL2IM_PLACES))
            return NONE;
        line += from / stride * each;
        each *= axis_param(c, j, COL2IM_PLACES), lead /= block, place /= size;
    }
    return first + line;
}
static void make_tables(Build *b, Col2Im *c) {
    c->line = ARENA_NEW(b->arena, int64_t, c->places * c->lead);
    c->shift = ARENA_NEW(b->arena, int64_t, c->stride * c->last);
    for (int64_t i = 0; i < c->places * c->lead; i++)
        c->line[i] = line_of(c, i / c->lead, i % c->lead);
    for (int64_t i = 0; i < c->stride * c->last; i++) {
        const int64_t from = i / c->last + axis_param(c, c->ns - 1, COL2IM_PAD) -
                             i % c->last * axis_param(c, c->ns - 1, COL2IM_DILATION);
        c->shift[i] = from % c->stride == 0 ? from / c->stride : NONE;
    }
}
/* Strides for which phases are interleaved fast. */
static bool takes_stride(const Simd *simd, int64_t stride) {
    return stride == 1 || (stride < SIMD_WEAVES && simd->weave[2][stride]);
}
bool col2im_possible(const Device *d, const Step *s) {
    if (!step_is_col2im(s) || s->nview != 2) return false;
    const View *y = &s->view[0], *x = &s->view[1];
    const int ns = y->rank - 2;
    int64_t all = 1;
    if (ns < 1 || x->rank != 3 || s->nparam != COL2IM_AXES + ns * COL2IM_AXIS_PARAMS) return false;
    for (int j = 0; j < ns; j++) all *= s->param[COL2IM_AXES + j * COL2IM_AXIS_PARAMS];
    const int64_t *last = s->param + COL2IM_AXES + (ns - 1) * COL2IM_AXIS_PARAMS;
    return y->dtype == DT_FLOAT && x->dtype == DT_FLOAT && !y->format && !x->format &&
           all <= SHIFTED_TERMS && takes_stride(d->simd, last[COL2IM_STRIDE]) &&
           x->stride[2] == 1 && y->stride[y->rank - 1] == 1 && view_count(y) > 0;
}
bool col2im_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const Step *s = b->step;
    if (!col2im_possible(b->device, s)) return build_fail(b, "col2im: its views do not fit");
    Col2Im *c = ARENA_NEW(b->arena, Col2Im, 1);
    *c = (Col2Im){.y = s->view[0], .x = s->view[1], .ns = s->view[0].rank - 2, .lead = 1};
    c->param = arena_copy(b->arena, s->param, sizeof *s->param * (size_t)s->nparam);
    const int axis = c->ns - 1;
    const int64_t columns = c->y.dim[c->y.rank - 1];
    for (int j = 0; j < axis; j++) c->lead *= axis_param(c, j, COL2IM_BLOCK);
    c->last = axis_param(c, axis, COL2IM_BLOCK);
    c->stride = axis_param(c, axis, COL2IM_STRIDE);
    c->columns = (columns + c->stride - 1) / c->stride;
    c->weave = c->stride == 1 ? NULL : b->device->simd->weave[2][c->stride];
    c->planes = view_count(&c->x) / c->x.dim[0] <= CACHED_ELEMENTS ? c->y.dim[1] : 1;
    c->places = view_count(&c->y) / columns / c->y.dim[1] / c->y.dim[0];
    make_tables(b, c);
    c->rows = c->places * c->y.dim[0] * c->y.dim[1] / c->planes;
    c->parts = count_parts(b, c->rows, view_count(&c->y) * c->lead * c->last, 0.1);
    c->each = c->weave ? (size_t)(c->planes * c->stride * c->columns) * sizeof(float) : 0;
    c->room = build_bytes(b, (size_t)c->parts * c->each);
    k->run = col2im_run, k->self = c;
    return true;
}
