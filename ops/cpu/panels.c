/* panels.c -- multiplies by known weights that are packed into panels: convolutions of images whose
   channels are last, and matrix products with contiguous rows.

   A panel has as many columns of one group as fit in a row of vector registers (Goto, van de Geijn,
   Anatomy of high-performance matrix multiplication, 2008). It is multiplied by a block of rows
   (Simd.sweep) while the next panel is prefetched. In a convolution, a row is the part of the image
   under one window: one contiguous run of memory for each row of the window. An image that is
   padded, or has another layout, is first copied. The epilogue is computed in registers as far as
   ending.c allows.

   Rows are taken in groups that fit into the second-level cache; all panels are applied to a group
   in turn. If a panel is larger than that cache, its terms are cut into parts. All panels are
   applied for one part after the other, and each part is added to the sums of the parts before
   it. */
#include "ops/base/intern.h"
#include "ops/cpu/cpu.h"
#include <math.h>
#include <string.h>

/* GROUP: floats of a group of rows. PASS_ROWS: rows between two calls of an activation. RUNS: the
   most taps of a window. */
enum { GROUP = 1 << 16, PASS_ROWS = 24, RUNS = 1 << 12 };
/* PART: the approximate number of terms of a part. WHOLE: sums of up to this many terms are not
   cut. */
enum { PART = 2048, WHOLE = 2 * PART };
enum { Y, X, ADD, VIEWS };
/* A padded copy of the image: view is [batch, size.., channels], and inner the part of it that
   holds the input, of sizes `in`, from place `begin` on. */
typedef struct Padded {
    View view, inner;
    int64_t begin[STEP_SPATIAL], in[STEP_SPATIAL], size[STEP_SPATIAL];
    Copy *fill; /* copies the input; NULL: the image is used in place */
} Padded;
typedef struct Panels {
    Padded padded;
    Ending e;
    int64_t groups, columns, inputs, terms; /* columns: of a group; inputs: channels from one group
                                               to the next; terms: of a sum, runs * n */
    int64_t n, *run;                        /* the terms of a run; the offset of each run in x */
    int runs;
    int parts; /* into which the terms are cut, between runs or within a single run */
    const float *weights, *start;
    View view[VIEWS];
    Nest rows;            /* over these views; a sweep runs along the last axis */
    int64_t lines, *line; /* the combinations of the other axes: VIEWS offsets for each */
    int64_t group;        /* lines of a group, or rows if there is only one line */
} Panels;

/* ---- running */
typedef struct Panel {
    SweepColumns to;     /* among the columns of all groups */
    int64_t from, input; /* the offset of its weights; the first input channel of its group */
} Panel;
static int64_t panels_of_group(const Simd *simd, const Panels *p) {
    const int64_t whole = (int64_t)simd->width * simd->vectors;
    return (p->columns + whole - 1) / whole;
}
static Panel panel_at(const Simd *simd, const Panels *p, int64_t k) {
    const int64_t whole = (int64_t)simd->width * simd->vectors, each = panels_of_group(simd, p),
                  group = k / each;
    Panel at = {.to = sweep_columns(simd, p->columns, k % each * whole),
                .from = k * whole * p->terms,
                .input = group * p->inputs};
    at.to.first += group * p->columns;
    return at;
}
static int64_t count_panels(const Simd *simd, const Panels *p) {
    return p->groups * panels_of_group(simd, p);
}

/* Applies an activation to rows that have just been written. */
static void pass_over(const Panels *p, const Sweep *s, int64_t columns, int64_t rows) {
    for (int64_t r = 0; r < rows; r++) {
        float *y = s->y + r * s->ys;
        p->e.pass(y, y, p->e.k, columns);
    }
}
static void sweep_rows(const Simd *simd, const Panels *p, const Panel *panel, Sweep *s,
                       int64_t rows, bool passes) {
    passes = passes && p->e.pass;
    const int64_t step = passes ? PASS_ROWS : rows;
    for (int64_t r = 0; r < rows; r += step) {
        const int64_t here = rows - r < step ? rows - r : step;
        s->ahead = simd->sweep(s, panel->to.vectors, here);
        if (passes) pass_over(p, s, panel->to.last + simd->width, here);
        s->a += here * s->as, s->y += here * s->ys;
        if (s->add) s->add += here * s->adds;
    }
}
/* A part of the terms: its runs, and `at`, the number of the first term. */
typedef struct Part {
    const int64_t *run;
    int64_t at, n, shift; /* shift: into the run */
    int runs;
} Part;
static Part part_at(const Panels *p, int64_t k) {
    const int64_t all = p->runs > 1 ? p->runs : p->n, from = all * k / p->parts,
                  here = all * (k + 1) / p->parts - from;
    if (p->runs > 1) return (Part){p->run + from, from * p->n, p->n, 0, (int)here};
    return (Part){p->run, from, here, from, 1};
}
/* Rows from..to of lines first..last (the ends are exclusive). */
typedef struct Group {
    float *const *base;
    int64_t first, last, from, to;
} Group;
/* Multiplies a group by part j of panel k, and prefetches the same part of the next panel. */
static void sweep_part(const Simd *simd, const Panels *p, const Group *g, int64_t k, int64_t j) {
    static const float zeros[PANEL];
    static const Squash none = {.low = -INFINITY, .high = INFINITY};
    const int64_t *stride = p->rows.stride + p->rows.rank - 1, panels = count_panels(simd, p);
    const Panel at = panel_at(simd, p, k), next = panel_at(simd, p, k + 1);
    const Part part = part_at(p, j);
    const bool begins = j == 0, ends = j == p->parts - 1;
    Sweep s = {
        .start = begins ? p->start + k * simd->width * simd->vectors : zeros,
        .panel = p->weights + at.from + part.at * simd->width * at.to.vectors,
        .last = at.to.last,
        .n = part.n,
        .runs = part.runs,
        .run = part.run,
        .ys = stride[Y * STEP_RANK],
        .as = stride[X * STEP_RANK],
        .adds = stride[(begins ? ADD : Y) * STEP_RANK],
        .squash = ends ? p->e.squash : none
    };
    s.ahead = s.ahead_end = s.panel;
    if (k + 1 < panels)
        s.ahead = p->weights + next.from + part.at * simd->width * next.to.vectors,
        s.ahead_end = s.ahead + part.n * part.runs * simd->width * next.to.vectors;
    for (int64_t line = g->first; line < g->last; line++) {
        const int64_t *offset = p->line + line * VIEWS;
        s.y = g->base[Y] + offset[Y] + g->from * s.ys + at.to.first;
        s.a = g->base[X] + offset[X] + g->from * s.as + at.input + part.shift;
        s.add = !begins    ? s.y
                : p->e.add ? g->base[ADD] + offset[ADD] + g->from * s.adds + at.to.first
                           : NULL;
        sweep_rows(simd, p, &at, &s, g->to - g->from, ends);
    }
}
/* Applies all panels to a group. The last panel of a group of columns may overlap the panel before
   it (see SweepColumns). If the terms are cut, such a panel must wait until the others are
   complete. */
static void sweep_group(const Simd *simd, const Panels *p, const Group *g) {
    const int64_t panels = count_panels(simd, p), each = panels_of_group(simd, p);
    const bool apart = p->parts > 1 && p->columns % (simd->width * simd->vectors) < simd->width &&
                       p->columns % (simd->width * simd->vectors) > 0;
    for (int64_t j = 0; j < p->parts; j++)
        for (int64_t k = 0; k < panels; k++)
            if (!apart || (k + 1) % each) sweep_part(simd, p, g, k, j);
    for (int64_t k = each - 1; k < panels && apart; k += each)
        for (int64_t j = 0; j < p->parts; j++) sweep_part(simd, p, g, k, j);
}
static void clear_border(const Padded *p, void *const slot[], void *work) {
    const int64_t pixel = p->view.dim[1], *size = p->size, after = size[2] - p->begin[2] - p->in[2];
    float *row = view_at(&p->view, slot, work);
    for (int64_t n = 0; n < p->view.dim[0]; n++)
        for (int64_t d = -p->begin[0]; d < size[0] - p->begin[0]; d++)
            for (int64_t h = -p->begin[1]; h < size[1] - p->begin[1]; h++) {
                const bool in = d >= 0 && d < p->in[0] && h >= 0 && h < p->in[1];
                const int64_t first = in ? p->begin[2] : size[2];
                memset(row, 0, (size_t)(first * pixel) * sizeof *row);
                row += size[2] * pixel;
                if (in) memset(row - after * pixel, 0, (size_t)(after * pixel) * sizeof *row);
            }
}
static int panels_run(const Kernel *k, void *const slot[], void *work) {
    const Panels *p = k->self;
    const Simd *simd = k->device->simd;
    float *base[VIEWS] = {NULL};
    if (p->padded.fill) {
        clear_border(&p->padded, slot, work);
        copy_run(p->padded.fill, slot, work);
    }
    for (int i = 0; i < (p->e.add ? VIEWS : ADD); i++) base[i] = view_at(&p->view[i], slot, work);
    const int64_t rows = p->rows.dim[p->rows.rank - 1];
    const int64_t all = p->lines == 1 ? rows : p->lines;
    for (int64_t at = 0; at < all; at += p->group) {
        const int64_t end = all - at < p->group ? all : at + p->group;
        const Group g =
            p->lines == 1 ? (Group){base, 0, 1, at, end} : (Group){base, at, end, 0, rows};
        sweep_group(simd, p, &g);
    }
    tail_run(&p->e.tail, slot, work);
    return 0;
}

/* ---- packing */
/* The weights to be packed: that of term t and column c is known[at[t] + c * stride]. */
typedef struct Source {
    const float *known;
    const View *view;
    int64_t *at, stride;
} Source;

static void pack_panel(const Panels *p, const Panel *panel, int width, const Source *s, float *w,
                       float *start) {
    const int64_t wide = (int64_t)panel->to.vectors * width;
    for (int64_t j = 0; j < wide; j++) {
        const int64_t c = sweep_vector(&panel->to, (int)(j / width), width) + j % width;
        const float scale = p->e.scale ? p->e.scale[c] : 1, *from = s->known + c * s->stride;
        start[j] = p->e.shift ? p->e.shift[c] : 0;
        for (int64_t t = 0; t < p->terms && w; t++) w[t * wide + j] = from[s->at[t]] * scale;
    }
}
/* The key under which the panels are shared: a digest of everything that they are made from. */
static void panels_key(const Panels *p, const Simd *simd, const Source *s, char key[33]) {
    struct {
        int64_t groups, columns, terms, stride, width, vectors, first;
        char known[33], at[33], scale[33];
    } of;
    memset(&of, 0, sizeof of);
    of.groups = p->groups, of.columns = p->columns, of.terms = p->terms, of.stride = s->stride,
    of.width = simd->width, of.vectors = simd->vectors;
    of.first = shared_digest(s->view, s->known, of.known);
    hash_hex(s->at, (size_t)p->terms * sizeof *s->at, of.at);
    if (p->e.scale)
        hash_hex(p->e.scale, (size_t)(p->groups * p->columns) * sizeof *p->e.scale, of.scale);
    hash_hex(&of, sizeof of, key);
}
static bool pack_weights(Build *b, Panels *p, const Source *s) {
    const Simd *simd = b->device->simd;
    const int64_t panels = count_panels(simd, p), whole = (int64_t)simd->width * simd->vectors,
                  columns = panels * whole;
    Share *share = build_share(b);
    float *start = ARENA_NEW(b->arena, float, columns);
    char key[33];
    panels_key(p, simd, s, key);
    const bool there = (share->bytes = shared_find(b->device, key)) != NULL;
    if (!there)
        share->bytes = shared_new(b->device, key, (size_t)(columns * p->terms) * sizeof(float));
    if (!share->bytes) return build_no_memory(b);
    for (int64_t k = 0; k < panels; k++) {
        const Panel at = panel_at(simd, p, k);
        pack_panel(p, &at, simd->width, s, there ? NULL : (float *)share->bytes + at.from,
                   start + k * whole);
    }
    p->weights = share->bytes, p->start = start;
    b->kernel->packed = 1 << 2;
    return true;
}

/* ---- making */
/* Depends only on the terms, so that sums are the same for any number of threads. */
static int count_parts_of_terms(const Panels *p) {
    if (p->terms <= WHOLE) return 1;
    const int64_t parts = (p->terms + PART / 2) / PART;
    return (int)(p->runs > 1 && parts > p->runs ? p->runs : parts);
}
/* Makes the nest over the rows of the views, whose axes are `axis[0..axes-1]`. */
static void take_rows(Build *b, Panels *p, int axes, const int axis[]) {
    const View *views[VIEWS];
    for (int i = 0; i < VIEWS; i++) {
        if (i == ADD && !p->e.add) p->view[ADD] = p->view[Y];
        p->view[i] = view_axes(&p->view[i], axes, axis);
        views[i] = &p->view[i];
    }
    p->rows = nest_new(b->arena, views, VIEWS);
    nest_with_axis(&p->rows);
    const int64_t rows = p->rows.dim[p->rows.rank - 1];
    int64_t index[STEP_RANK] = {0}, offset[VIEWS] = {0}, n = 0;
    p->lines = rows ? p->rows.count / rows : 0;
    p->line = ARENA_NEW(b->arena, int64_t, p->lines * VIEWS);
    do {
        memcpy(p->line + n++ * VIEWS, offset, sizeof offset);
    } while (n < p->lines && nest_next(&p->rows, 1, index, offset));
    p->parts = count_parts_of_terms(p);
    const int64_t row = p->rows.stride[X * STEP_RANK + p->rows.rank - 1] / p->parts,
                  each = p->lines == 1 ? row : row * rows, room = p->parts > 1 ? 2 * GROUP : GROUP;
    p->group = each > 0 && each < room ? room / each : 1;
    if (p->lines == 1) p->group = (p->group / PASS_ROWS + 1) * PASS_ROWS;
}
static bool panels_build(Build *b, Panels *p, const Source *s, int axes, const int axis[],
                         Kernel *k) {
    k->self = p, k->run = panels_run;
    p->view[Y] = p->e.tail.into;
    if (p->e.add) p->view[ADD] = b->step->view[p->e.add];
    take_rows(b, p, axes, axis);
    return pack_weights(b, p, s);
}

/* ---- matrix products */
static bool floats(const Step *s) {
    for (int i = 0; i < 3; i++)
        if (s->view[i].dtype != DT_FLOAT || view_count(&s->view[i]) == 0) return false;
    return true;
}
bool panels_gemm_possible(const Device *d, const Step *s) {
    const View *y = &s->view[0], *b = &s->view[2];
    const int c = y->rank - 1;
    for (int i = 0; i < c - 1; i++)
        if (b->dim[i] > 1 && b->stride[i] != 0) return false;
    return floats(s) && !step_has_zero(s) && y->dim[c] >= d->simd->width && y->stride[c] == 1 &&
           (s->view[1].stride[c] == 1 || s->view[1].dim[c] == 1);
}
bool panels_gemm_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const View *v = b->step->view;
    const int c = v[0].rank - 1;
    static const int axis[] = {0, 1, 2, 3, 4, 5, 6, 7};
    if (!b->weights || !b->weights[2]) return build_fail(b, "the weights are not constant");
    Panels *p = ARENA_NEW(b->arena, Panels, 1);
    if (!ending_new(b, c, c, &p->e)) return false;
    p->groups = p->runs = 1, p->columns = v[0].dim[c], p->terms = p->n = v[1].dim[c];
    p->run = ARENA_NEW(b->arena, int64_t, 1);
    p->view[X] = v[1];
    Source s = {.view = &v[2],
                .known = (const float *)b->weights[2] + v[2].offset,
                .at = ARENA_NEW(b->scratch, int64_t, p->terms),
                .stride = v[2].stride[c]};
    for (int64_t t = 0; t < p->terms; t++) s.at[t] = t * v[2].stride[c - 1];
    return panels_build(b, p, &s, c, axis, k);
}

/* ---- convolutions */
/* A convolution with always three spatial axes. */
typedef struct Image {
    View x, w;
    Window g;                   /* the windows along three axes */
    int64_t need[STEP_SPATIAL]; /* places that the windows reach, from the first padding on */
} Image;
static View with_axes(const View *v, const int64_t dim[], const int64_t stride[]) {
    View w = *v;
    w.rank = 2 + STEP_SPATIAL;
    for (int a = 0; a < STEP_SPATIAL; a++) w.dim[2 + a] = dim[a], w.stride[2 + a] = stride[a];
    return w;
}
static Image image_of(const Step *s) {
    const View *v = s->view;
    Image m = {.g = window_new(s, &v[0], &v[1])};
    int64_t ws[STEP_SPATIAL];
    window_strides(&v[2], ws);
    m.x = with_axes(&v[1], m.g.in, m.g.xs), m.w = with_axes(&v[2], m.g.kernel, ws);
    for (int a = 0; a < STEP_SPATIAL; a++)
        m.need[a] = (m.g.out[a] - 1) * m.g.stride[a] + (m.g.kernel[a] - 1) * m.g.dilation[a] + 1;
    return m;
}
/* Whether all windows lie within the image and its channels are adjacent, so that it can be used in
   place. */
static bool lies_ready(const Image *m) {
    for (int a = 0; a < STEP_SPATIAL; a++)
        if (m->g.begin[a] != 0 || m->need[a] > m->x.dim[2 + a]) return false;
    return m->x.stride[1] == 1 || m->x.dim[1] == 1;
}
static bool copy_padded(Build *b, Image *m, Padded *p) {
    static const int order[] = {0, 4, 1, 2, 3}; /* of [batch, size.., channels] */
    int64_t dim[2 + STEP_SPATIAL] = {m->x.dim[0], 0, 0, 0, m->x.dim[1]};
    for (int a = 0; a < STEP_SPATIAL; a++) {
        const int64_t in = m->x.dim[2 + a], whole = m->g.begin[a] + in;
        p->begin[a] = m->g.begin[a], p->in[a] = in;
        p->size[a] = dim[1 + a] = whole > m->need[a] ? whole : m->need[a];
    }
    const View lying = build_scratch(b, DT_FLOAT, 2 + STEP_SPATIAL, dim);
    p->view = p->inner = view_axes(&lying, 2 + STEP_SPATIAL, order);
    for (int a = 0; a < STEP_SPATIAL; a++)
        p->inner = view_part(&p->inner, 2 + a, p->begin[a], p->in[a]);
    p->fill = copy_new(b, &p->inner, &m->x);
    m->x = p->view;
    return p->fill != NULL;
}

/* Lists the runs of terms under a window and the place of each term's weight. A row of the window
   is a single run if its pixels are adjacent. */
static void take_runs(Build *b, const Image *m, Panels *p, Source *s) {
    const View *x = &m->x, *w = &m->w;
    const int64_t *k = w->dim + 2, channels = w->dim[1];
    const bool joined = k[2] == 1 || (m->g.dilation[2] == 1 && x->stride[4] == channels);
    const int64_t across = joined ? k[2] : 1;
    p->n = across * channels, p->runs = 0;
    p->run = ARENA_NEW(b->arena, int64_t, k[0] * k[1] * k[2]);
    s->at = ARENA_NEW(b->scratch, int64_t, p->terms);
    int64_t *at = s->at;
    for (int64_t d = 0; d < k[0]; d++)
        for (int64_t h = 0; h < k[1]; h++)
            for (int64_t c = 0; c < k[2]; c += across) {
                p->run[p->runs++] = d * m->g.dilation[0] * x->stride[2] +
                                    h * m->g.dilation[1] * x->stride[3] +
                                    c * m->g.dilation[2] * x->stride[4];
                for (int64_t i = 0; i < across; i++)
                    for (int64_t j = 0; j < channels; j++)
                        *at++ = j * w->stride[1] + d * w->stride[2] + h * w->stride[3] +
                                (c + i) * w->stride[4];
            }
}

bool panels_conv_possible(const Device *d, const Step *s) {
    const View *v = s->view;
    const StepWindow window = step_window(s);
    for (int a = 0; a < window.n; a++)
        if (window.begin[a] < 0) return false;
    const int64_t taps = v[2].dim[1] ? conv_terms(s) / v[2].dim[1] : 0;
    return floats(s) && !step_has_zero(s) && taps <= RUNS && s->param[CONV_GROUP] > 0 &&
           v[0].dim[1] / s->param[CONV_GROUP] >= d->simd->width && v[0].stride[1] == 1;
}
bool panels_conv_build(Build *b, Kernel *k) {
    const View *v = b->step->view;
    Image m = image_of(b->step);
    if (!b->weights || !b->weights[2]) return build_fail(b, "the weights are not constant");
    Panels *p = ARENA_NEW(b->arena, Panels, 1);
    if (!ending_new(b, 1, 1, &p->e)) return false;
    if (!lies_ready(&m) && !copy_padded(b, &m, &p->padded)) return false;
    Source s = {.view = &v[2],
                .known = (const float *)b->weights[2] + v[2].offset,
                .stride = v[2].stride[0]};
    p->groups = b->step->param[CONV_GROUP], p->inputs = v[2].dim[1];
    p->columns = v[0].dim[1] / p->groups, p->terms = view_count(&v[2]) / v[2].dim[0];
    take_runs(b, &m, p, &s);
    const int n = v[0].rank - 2;
    p->view[X] = v[0]; /* its sizes are those of the output: one row for each window */
    p->view[X].slot = m.x.slot, p->view[X].offset = m.x.offset, p->view[X].dtype = DT_FLOAT;
    p->view[X].stride[0] = m.x.stride[0];
    for (int a = 0; a < n; a++) {
        const int i = STEP_SPATIAL - n + a;
        p->view[X].stride[2 + a] = m.x.stride[2 + i] * m.g.stride[i];
    }
    static const int axis[] = {0, 2, 3, 4};
    return panels_build(b, p, &s, n + 1, axis, k);
}
