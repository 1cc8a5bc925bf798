/* ending.c -- splits off the part of an epilogue that our own kernels of convolutions and products
   compute while their results are in registers or in the nearest cache.

   That part consists of known scales and biases (affine.c), which go into the weights and the
   starts of the sums, then a view that is added, then one activation. An epilogue that continues
   after that, or has another form, runs as an element-wise program over the whole output. */
#include "ops/cpu/cpu.h"
#include <math.h>

static const Squash nothing = {.low = -INFINITY, .high = INFINITY};

/* Takes an activation that is computed in registers: clipping or hard swish. False: it is another
   one. */
static bool take_act(const Fused *f, Ending *e) {
    const Act *a = &f->act[0];
    if (f->nact != 1) return false;
    switch (a->kind) {
    case ACT_RELU: e->squash.low = 0; return true;
    case ACT_CLIP: e->squash.low = a->alpha, e->squash.high = a->beta; return true;
    case ACT_HARDSWISH:
        e->squash.gate = true, e->squash.slope = a->alpha, e->squash.shift = a->beta;
        return true;
    default: return false;
    }
}
/* Returns the value of which the program's last value is an activation, or the last value if it is
   none. */
static int peel_act(const Build *b, const Step *s, Ending *e) {
    const int last = s->ncode - 1;
    Fused f = {0};
    Joined j;
    bool by_erf;
    int x;
    if (fused_activation(b, s, last, &x, &f) && take_act(&f, e)) return x;
    e->squash = nothing;
    if (!activation_match(s->code, s->ncode, last, &by_erf, &j)) return last;
    e->pass = by_erf ? b->device->simd->gate_erf : b->device->simd->gate_sigmoid;
    for (int i = 0; i < 6; i++) e->k[i] = j.k[i];
    return j.x;
}
/* Whether value i is the accumulator, or its sum with a view of floats that has stride 1 along the
   axis. */
static bool take_sum(const Step *s, int i, int axis, Ending *e) {
    const Scalar *c = &s->code[i];
    if (c->op == C_ACC) return true;
    if (c->op != C_ADD || axis < 0) return false;
    const int other = s->code[c->a].op == C_ACC ? c->b : c->a, acc = c->a + c->b - other;
    if (s->code[acc].op != C_ACC || s->code[other].op != C_VIEW) return false;
    const View *v = &s->view[s->code[other].a];
    if (v->dtype != DT_FLOAT || v->stride[axis] != 1) return false;
    e->add = s->code[other].a;
    return true;
}
static bool take_program(Build *b, const Step *s, int axis, Ending *e) {
    if (s->ncode == 0) return true;
    if (epilogue_reads_output(s)) return false;
    Step own = *s;
    Scalar code[AFFINE_CODE];
    if (s->ncode > AFFINE_CODE) return false;
    program_read_once(b, s->view, s->code, s->ncode, code);
    own.code = code;
    return take_sum(&own, peel_act(b, &own, e), axis, e);
}

bool ending_new(Build *b, int axis, int beside, Ending *e) {
    const Step *whole = b->step;
    Step rest = *whole;
    AffinePart split = {0};
    if (affine_split(b, axis, &split)) rest.code = split.code, rest.ncode = split.ncode;
    *e = (Ending){.scale = split.scale, .shift = split.shift, .squash = nothing};
    b->step = &rest;
    bool done = take_program(b, &rest, beside, e);
    if (!done) e->squash = nothing, e->pass = NULL, e->add = 0;
    done = done ? tail_plain(b, DT_FLOAT, TAIL_ANY, &e->tail)
                : tail_new(b, DT_FLOAT, TAIL_ANY, &e->tail);
    b->step = whole;
    return done;
}

const float *ending_list(Build *b, const float *list, float otherwise, int64_t n) {
    float *own = ARENA_NEW(b->arena, float, n);
    for (int64_t i = 0; i < n; i++) own[i] = list ? list[i] : otherwise;
    return own;
}
