/* flat.c -- writes kernels for steps whose elements are independent: ewise, copy, fill and sample.

   The axes are put in the order in which they lie in the output, and joined where all views allow
   that. If the last axis is contiguous, a thread takes PACK elements with one load and one store. A
   copy that permutes axes goes through a tile in shared memory, so that both the loads and the
   stores of a warp are adjacent. */
#include "ops/cuda/generate.h"
#include <string.h>

enum { TILE = 32, TILE_ROWS = THREADS / TILE };
typedef struct Flat {
    Step step;
    View view[VIEWS_MOST];
} Flat;

/* ---- axes */
static bool joined(const Flat *f, int a, int b) { /* in all views, axes a and b can be one */
    for (int k = 0; k < f->step.nview; k++)
        if (f->view[k].rank >= 0 &&
            f->view[k].stride[a] != f->view[k].stride[b] * f->view[k].dim[b])
            return false;
    return true;
}
static void drop_axis(Flat *f, int a) {
    for (int k = 0; k < f->step.nview; k++) {
        View *v = &f->view[k];
        if (v->rank < 0) continue;
        for (int b = a; b + 1 < v->rank; b++)
            v->dim[b] = v->dim[b + 1], v->stride[b] = v->stride[b + 1];
        v->rank--;
    }
}
static void swap_axes(Flat *f, int a, int b) {
    for (int k = 0; k < f->step.nview; k++) {
        View *v = &f->view[k];
        const int64_t dim = v->dim[a], stride = v->stride[a];
        v->dim[a] = v->dim[b], v->stride[a] = v->stride[b];
        v->dim[b] = dim, v->stride[b] = stride;
    }
}
static Flat flatten(const Step *s) {
    Flat f = {.step = *s};
    memcpy(f.view, s->view, sizeof *s->view * (size_t)s->nview);
    f.step.view = f.view;
    const View *y = &f.view[0];
    for (int a = y->rank - 1; a >= 0; a--)
        if (y->dim[a] == 1) drop_axis(&f, a);
    for (int a = 1; a < y->rank; a++)
        for (int b = a; b > 0 && y->stride[b - 1] < y->stride[b]; b--) swap_axes(&f, b - 1, b);
    for (int a = y->rank - 2; a >= 0; a--)
        if (joined(&f, a, a + 1)) {
            for (int k = 0; k < f.step.nview; k++)
                if (f.view[k].rank >= 0) f.view[k].dim[a + 1] *= f.view[k].dim[a];
            drop_axis(&f, a);
        }
    return f;
}

/* ---- Kernels with PACK elements per thread. */
static bool packs(const View *v) {
    const int last = v->rank - 1;
    if (source_element_bytes(v->dtype) > 4 || v->offset % PACK) return false;
    for (int a = 0; a < last; a++)
        if (v->stride[a] % PACK) return false;
    return v->stride[last] == 1;
}
static bool repeats(const View *v) { return v->stride[v->rank - 1] == 0; }
static bool packable(const Flat *f) {
    const View *y = &f->view[0];
    if (y->rank < 1 || y->dim[y->rank - 1] % PACK || !packs(y)) return false;
    for (int k = 1; k < f->step.nview; k++)
        if (f->view[k].rank >= 0 && !repeats(&f->view[k]) && !packs(&f->view[k])) return false;
    return true;
}
static void pack_line(Gen *g, int view, const char *to, const char *from) {
    line(g, "*(pack%d *)%s = *(const pack%d *)%s;", source_element_bytes(g->step->view[view].dtype),
         to, source_element_bytes(g->step->view[view].dtype), from);
}
static void pack_open(Gen *g, const Step *s) {
    for (int k = 0; k < s->nview; k++) {
        if (s->view[k].rank < 0) continue;
        const char *T = type_name(s->view[k].dtype);
        line(g, "ALIGN(16) %s l%d[%d];", T, k, PACK);
        if (k == 0) continue;
        const char *at = place_of(g, k, s->view[k].rank, "");
        if (repeats(&s->view[k]))
            line(g, "l%d[0] = l%d[1] = l%d[2] = l%d[3] = v%d[%s];", k, k, k, k, k, at);
        else pack_line(g, k, say(g, "l%d", k), say(g, "(v%d + %s)", k, at));
    }
    line(g, "UNROLL");
    line(g, "for (int e = 0; e < %d; e++) {", PACK);
    g->packed = true;
}
static void pack_close(Gen *g) {
    g->packed = false;
    line(g, "}");
    pack_line(g, 0, say(g, "(v0 + %s)", place_of(g, 0, g->step->view[0].rank, "")), "l0");
}

/* ---- Kernels with one element per thread. */
static void copy_element(Gen *g, const char *at, const char *to) {
    const int from = g->step->view[1].dtype;
    const char class = class_with('i', from);
    if (from == g->step->view[0].dtype && from != B8 && !g->packed)
        line(g, "v0[%s] = v1[%s];", to, at);
    else element_store(g, to, element(g, 1, at, class), class);
}
static void one_element(Gen *g) {
    const Step *s = g->step;
    if (s->kind == S_FILL)
        element_store(g, place_of(g, 0, s->view[0].rank, ""),
                      class_constant(g, s->code[0].k, g->class), g->class);
    else if (s->kind == S_COPY)
        copy_element(g, place_of(g, 1, s->view[1].rank, ""), place_of(g, 0, s->view[0].rank, ""));
    else program_lines(g, "0", g->class);
}
static void elements_write(Gen *g, Flat *f, bool packed) {
    View *y = &f->view[0];
    const int last = y->rank - 1;
    const int64_t dim = packed ? y->dim[last] : 0;
    if (packed) y->dim[last] /= PACK;
    each_element(g, dims_product(y, 0, y->rank));
    index_lines(g, say(g, "item"), y->rank);
    if (packed) {
        y->dim[last] = dim;
        line(g, "const place_t n%d = i%d * %d;", last, last, PACK);
        line(g, "{");
        line(g, "const place_t i%d = n%d;", last, last);
        pack_open(g, &f->step);
    }
    one_element(g);
    if (packed) pack_close(g), line(g, "}");
    line(g, "}");
}

/* ---- Copies that permute axes. */
/* The axis along which x, but not the output, is contiguous; -1: there is none. */
static int turned_axis(const Flat *f) {
    const View *y = &f->view[0], *x = &f->view[1];
    const int last = y->rank - 1;
    if (f->step.kind != S_COPY || last < 1 || x->stride[last] == 1 || y->stride[last] != 1)
        return -1;
    for (int a = 0; a < last; a++)
        if (x->stride[a] == 1 && y->dim[a] >= 8 && y->dim[last] >= 8) return a;
    return -1;
}
static void tile_lines(Gen *g, int along, int across, bool load) {
    line(g, "for (int r = 0; r < %d; r += %d) {", TILE, TILE_ROWS);
    line(g, "const place_t i%d = first%d + lane, i%d = first%d + row + r;", along, along, across,
         across);
    line(g, "if (i%d < %lld && i%d < %lld) {", along, (long long)g->step->view[0].dim[along],
         across, (long long)g->step->view[0].dim[across]);
    const char class = class_with('i', g->step->view[1].dtype);
    const int rank = g->step->view[0].rank;
    if (load) line(g, "tile[row + r][lane] = %s;", element(g, 1, place_of(g, 1, rank, ""), class));
    else element_store(g, place_of(g, 0, rank, ""), "tile[lane][row + r]", class);
    line(g, "}");
    line(g, "}");
}
static void turn_write(Gen *g, const Flat *f, int turned) {
    const View *y = &f->view[0];
    const int last = y->rank - 1;
    int64_t blocks = 1;
    line(g, "SHARED %s tile[%d][%d];", class_name(class_with('i', f->view[1].dtype)), TILE,
         TILE + 1);
    line(g, "const place_t lane = threadIdx.x %% %d, row = threadIdx.x / %d;", TILE, TILE);
    line(g, "count_t q = blockIdx.x;");
    for (int a = last; a >= 0; a--) {
        const bool tiled = a == last || a == turned;
        const int64_t n = tiled ? (y->dim[a] + TILE - 1) / TILE : y->dim[a];
        line(g, "const place_t %s%d = (place_t)(q %% %lluu)%s; q /= %lluu;", tiled ? "first" : "i",
             a, (unsigned long long)n, tiled ? say(g, " * %d", TILE) : "", (unsigned long long)n);
        blocks *= n;
    }
    tile_lines(g, turned, last, true);
    line(g, "SYNC();");
    tile_lines(g, last, turned, false);
    g->out->grid = (unsigned)blocks, g->out->block = THREADS;
}

/* ---- variants */
int flat_variants(const Step *s) {
    const Flat f = flatten(s);
    return turned_axis(&f) >= 0 || packable(&f) ? 2 : 1;
}
void flat_write(Gen *g, int variant) {
    const Step *whole = g->step;
    Flat f = flatten(whole);
    f.step.view = f.view;
    g->step = &f.step;
    const int turned = turned_axis(&f);
    if (variant == 0 && turned >= 0) turn_write(g, &f, turned);
    else elements_write(g, &f, variant == 0 && packable(&f));
    g->step = whole;
}

/* ---- sample */

int sample_variants(const Step *s) {
    StepTaps axis[STEP_RANK];
    int moves;
    return step_sample(s, axis, &moves) && (class_real(class_with('i', s->view[1].dtype)) || moves);
}
void sample_write(Gen *g) {
    const Step *s = g->step;
    const View *y = &s->view[0], *x = &s->view[1];
    const char class = class_with('i', x->dtype);
    const char *at = "", *weight = "1.0";
    StepTaps axis[STEP_RANK];
    int moves, loops = 0;
    step_sample(s, axis, &moves);
    g->out->table = true;
    each_element(g, dims_product(y, 0, y->rank));
    index_lines(g, "item", y->rank);
    line(g, "%s acc = 0;", class_name(class));
    for (int a = 0; a < y->rank; a++) {
        const int64_t taps = axis[a].taps;
        const char *index = say(g, "i%d", a);
        if (taps) {
            line(g, "for (int k%d = 0; k%d < %lld; k%d++) {", a, a, (long long)taps, a);
            line(g, "const i64 *const w%d = table + %lld + 2 * (i%d * %lldLL + k%d);", a,
                 (long long)axis[a].first, a, (long long)taps, a);
            index = say(g, "(place_t)w%d[0]", a);
            weight = say(g, "%s * bits_d(w%d[1])", weight, a);
            loops++;
        }
        at = say(g, "%s%s(place_t)%lld*%s", at, *at ? " + " : "", (long long)x->stride[a], index);
    }
    const char *e = element(g, 1, *at ? at : "0", class);
    if (moves) line(g, "acc = %s;", e);
    else line(g, "acc += (%s)(%s) * %s;", class_name(class), weight, e);
    while (loops--) line(g, "}");
    element_store(g, place_of(g, 0, y->rank, ""), "acc", class);
    line(g, "}");
}
