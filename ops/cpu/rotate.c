/* rotate.c -- the step "rotate" (isomer_op_steps.h): rotary position embeddings and products of
   complex numbers. Each operand is read once. The two numbers of a pair lie in two rows or,
   interleaved, side by side. */
#include "ops/backend/isomer_op_steps.h"
#include "ops/cpu/cpu.h"

typedef struct Rotate {
    View view[ROTATE_VIEWS];
    Nest nest; /* over all views; its last axis is the row, the one before it `rows` rows */
    int64_t n, rows, step[ROTATE_VIEWS], stride[ROTATE_VIEWS]; /* step: from row to row; stride:
                                                              from element to element */
    int64_t blocks;                                            /* of `rows` rows */
    int inner, parts;
    bool beside, interleaved; /* beside: all strides are 1 */
} Rotate;
typedef struct RotateRun {
    const Rotate *t;
    const Simd *simd;
    float *at[ROTATE_VIEWS];
} RotateRun;

/* Rows of any strides. */
static void rotate_strided(const Rotate *t, float *const at[], int64_t rows) {
    const int64_t *s = t->stride;
    for (int64_t r = 0; r < rows; r++) {
        float *v[ROTATE_VIEWS];
        for (int j = 0; j < ROTATE_VIEWS; j++) v[j] = at[j] + r * t->step[j];
        for (int64_t i = 0; i < t->n; i++) {
            const float p = v[ROTATE_P][i * s[ROTATE_P]], q = v[ROTATE_Q][i * s[ROTATE_Q]],
                        c = v[ROTATE_C][i * s[ROTATE_C]], d = v[ROTATE_D][i * s[ROTATE_D]];
            v[ROTATE_F][i * s[ROTATE_F]] = p * c - q * d;
            v[ROTATE_S][i * s[ROTATE_S]] = q * c + p * d;
        }
    }
}
static void run_rotate_part(void *job, int part) {
    const RotateRun *run = job;
    const Rotate *t = run->t;
    const int64_t all = t->blocks * t->rows, end = all * (part + 1) / t->parts;
    int64_t at = all * part / t->parts, index[STEP_RANK], offset[ROTATE_VIEWS];
    nest_goto(&t->nest, t->inner, at / t->rows, index, offset);
    while (at < end) {
        const int64_t first = at % t->rows, left = t->rows - first,
                      rows = left < end - at ? left : end - at;
        float *v[ROTATE_VIEWS];
        for (int j = 0; j < ROTATE_VIEWS; j++) v[j] = run->at[j] + offset[j] + first * t->step[j];
        if (t->beside) run->simd->rotate(v, t->step, t->n, rows);
        else if (t->interleaved) run->simd->rotate_pairs(v, t->step, t->n, rows);
        else rotate_strided(t, v, rows);
        at += rows;
        if (at < end) nest_next(&t->nest, t->inner, index, offset);
    }
}
static int rotate_run(const Kernel *k, void *const slot[], void *work) {
    const Rotate *t = k->self;
    RotateRun run = {.t = t, .simd = k->device->simd};
    for (int j = 0; j < ROTATE_VIEWS; j++) run.at[j] = view_at(&t->view[j], slot, work);
    team_run(k->device->team, t->parts, run_rotate_part, &run);
    return 0;
}

/* ---- making */
/* Whether each element of the second view follows that of the first one. */
static bool are_beside(const View *second, const View *first) {
    View next = *first;
    next.offset++;
    return view_same(second, &next);
}
static void find_form(Rotate *t) {
    const View *v = t->view;
    bool pairs = are_beside(&v[ROTATE_S], &v[ROTATE_F]) && are_beside(&v[ROTATE_Q], &v[ROTATE_P]);
    t->beside = true;
    for (int j = 0; j < ROTATE_VIEWS; j++) {
        t->beside = t->beside && t->stride[j] == 1;
        pairs = pairs && t->stride[j] == (j < ROTATE_C ? 2 : 1);
    }
    t->interleaved = pairs;
}
static void rotate_new(Arena *arena, const View view[], Rotate *t) {
    const View *list[ROTATE_VIEWS];
    for (int j = 0; j < ROTATE_VIEWS; j++) t->view[j] = view[j], list[j] = &t->view[j];
    t->nest = nest_new(arena, list, ROTATE_VIEWS);
    nest_with_axis(&t->nest);
    const int last = t->nest.rank - 1;
    t->inner = last > 0 ? 2 : 1, t->n = t->nest.dim[last];
    t->rows = last > 0 ? t->nest.dim[last - 1] : 1;
    for (int j = 0; j < ROTATE_VIEWS; j++) {
        const int64_t *stride = t->nest.stride + (int64_t)j * STEP_RANK;
        t->stride[j] = stride[last], t->step[j] = last > 0 ? stride[last - 1] : 0;
    }
    t->blocks = t->nest.count / (t->n * t->rows);
    find_form(t);
}
bool rotate_possible(const Step *s) {
    if (!step_is_rotate(s) || s->nview != ROTATE_VIEWS || s->nparam != 1) return false;
    for (int j = 0; j < ROTATE_VIEWS; j++) {
        const View *v = &s->view[j];
        if (v->dtype != DT_FLOAT || v->format || v->rank != s->view[0].rank) return false;
        for (int a = 0; a < v->rank; a++)
            if (v->dim[a] != s->view[0].dim[a] || v->dim[a] < 1) return false;
    }
    return true;
}
bool rotate_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    if (!rotate_possible(b->step)) return build_fail(b, "rotate: its views do not fit");
    Rotate *t = ARENA_NEW(b->arena, Rotate, 1);
    rotate_new(b->arena, b->step->view, t);
    t->parts = count_parts(b, t->blocks * t->rows, t->nest.count, 0.25);
    k->run = rotate_run, k->self = t;
    return true;
}
