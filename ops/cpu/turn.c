/* turn.c -- the step "turn" (isomer_op_steps.h): rotary position embeddings and products of complex
   numbers. Each operand is read once. The two numbers of a pair lie in two rows or, interleaved,
   side by side. */
#include "ops/backend/isomer_op_steps.h"
#include "ops/cpu/cpu.h"

typedef struct Turn {
    View view[TURN_VIEWS];
    Nest nest; /* over all views; its last axis is the row, the one before it `rows` rows */
    int64_t n, rows, step[TURN_VIEWS], stride[TURN_VIEWS]; /* step: from row to row; stride: from
                                                              element to element */
    int64_t blocks;                                        /* of `rows` rows */
    int inner, parts;
    bool beside, interleaved; /* beside: all strides are 1 */
} Turn;
typedef struct TurnRun {
    const Turn *t;
    const Simd *simd;
    float *at[TURN_VIEWS];
} TurnRun;

/* Rows of any strides. */
static void turn_strided(const Turn *t, float *const at[], int64_t rows) {
    const int64_t *s = t->stride;
    for (int64_t r = 0; r < rows; r++) {
        float *v[TURN_VIEWS];
        for (int j = 0; j < TURN_VIEWS; j++) v[j] = at[j] + r * t->step[j];
        for (int64_t i = 0; i < t->n; i++) {
            const float p = v[TURN_P][i * s[TURN_P]], q = v[TURN_Q][i * s[TURN_Q]],
                        c = v[TURN_C][i * s[TURN_C]], d = v[TURN_D][i * s[TURN_D]];
            v[TURN_F][i * s[TURN_F]] = p * c - q * d;
            v[TURN_S][i * s[TURN_S]] = q * c + p * d;
        }
    }
}
static void run_turn_part(void *job, int part) {
    const TurnRun *run = job;
    const Turn *t = run->t;
    const int64_t all = t->blocks * t->rows, end = all * (part + 1) / t->parts;
    int64_t at = all * part / t->parts, index[STEP_RANK], offset[TURN_VIEWS];
    nest_goto(&t->nest, t->inner, at / t->rows, index, offset);
    while (at < end) {
        const int64_t first = at % t->rows, left = t->rows - first,
                      rows = left < end - at ? left : end - at;
        float *v[TURN_VIEWS];
        for (int j = 0; j < TURN_VIEWS; j++) v[j] = run->at[j] + offset[j] + first * t->step[j];
        if (t->beside) run->simd->turn(v, t->step, t->n, rows);
        else if (t->interleaved) run->simd->turn_pairs(v, t->step, t->n, rows);
        else turn_strided(t, v, rows);
        at += rows;
        if (at < end) nest_next(&t->nest, t->inner, index, offset);
    }
}
static int turn_run(const Kernel *k, void *const slot[], void *work) {
    const Turn *t = k->self;
    TurnRun run = {.t = t, .simd = k->device->simd};
    for (int j = 0; j < TURN_VIEWS; j++) run.at[j] = view_at(&t->view[j], slot, work);
    team_run(k->device->team, t->parts, run_turn_part, &run);
    return 0;
}

/* ---- making */
static bool are_beside(const View *second, const View *first) {
    return second->slot == first->slot && second->offset == first->offset + 1;
}
static void find_form(Turn *t) {
    const View *v = t->view;
    bool pairs = are_beside(&v[TURN_S], &v[TURN_F]) && are_beside(&v[TURN_Q], &v[TURN_P]);
    t->beside = true;
    for (int j = 0; j < TURN_VIEWS; j++) {
        t->beside = t->beside && t->stride[j] == 1;
        pairs = pairs && t->stride[j] == (j < TURN_C ? 2 : 1);
    }
    t->interleaved = pairs;
}
static void turn_new(Arena *arena, const View view[], Turn *t) {
    const View *list[TURN_VIEWS];
    for (int j = 0; j < TURN_VIEWS; j++) t->view[j] = view[j], list[j] = &t->view[j];
    t->nest = nest_new(arena, list, TURN_VIEWS);
    nest_with_axis(&t->nest);
    const int last = t->nest.rank - 1;
    t->inner = last > 0 ? 2 : 1, t->n = t->nest.dim[last];
    t->rows = last > 0 ? t->nest.dim[last - 1] : 1;
    for (int j = 0; j < TURN_VIEWS; j++) {
        const int64_t *stride = t->nest.stride + (int64_t)j * STEP_RANK;
        t->stride[j] = stride[last], t->step[j] = last > 0 ? stride[last - 1] : 0;
    }
    t->blocks = t->nest.count / (t->n * t->rows);
    find_form(t);
}
bool turn_possible(const Step *s) {
    if (!step_is_turn(s) || s->nview != TURN_VIEWS || s->nparam != 1) return false;
    for (int j = 0; j < TURN_VIEWS; j++) {
        const View *v = &s->view[j];
        if (v->dtype != DT_FLOAT || v->format || v->rank != s->view[0].rank) return false;
        for (int a = 0; a < v->rank; a++)
            if (v->dim[a] != s->view[0].dim[a] || v->dim[a] < 1) return false;
    }
    return true;
}
bool turn_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    if (!turn_possible(b->step)) return build_fail(b, "turn: its views do not fit");
    Turn *t = ARENA_NEW(b->arena, Turn, 1);
    turn_new(b->arena, b->step->view, t);
    t->parts = count_parts(b, t->blocks * t->rows, t->nest.count, 0.25);
    k->run = turn_run, k->self = t;
    return true;
}
