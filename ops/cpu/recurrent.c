/* recurrent.c -- rnn, gru and lstm of floats (defined in ops/recurrent.c).

   The contribution of the input is one product for all steps; its weights, too, are packed as
   levels if they are known and bytes can be multiplied by them, up to FEW_INPUTS rows also without
   bytes (pack_inputs). The recurrent weights are packed into panels of PANEL columns, at compile
   time if they are known (as levels if they take few values: levels.c). Each step multiplies the
   states of all sequences by these panels, and one pass over vectors computes the gates. Directions
   and sequences are distributed over the threads; the result for each of them does not depend on
   which are computed together. */
#include "ops/core/element.h"
#include "ops/backend/isomer_op_steps.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/processor.h"
#include <string.h>

enum { X, W, R, BIAS, LENGTHS, H0, C0, PEEPHOLES, INPUTS };
enum { RNN = 1, GRU = 3, LSTM = 4 }; /* the number of gates */
enum { FEW_INPUTS = 4 };             /* rows; more of them are faster as floats if not as bytes */
typedef struct Panels {              /* columns from..from+n-1 of the sums of a step */
    int64_t from, n;
    Operand whole, last; /* whole: [d, n / PANEL, h, PANEL]; last: [d, h, PANEL], the last PANEL
                            columns or, if there are fewer in all, those columns followed by
                            anything */
    bool by_levels;      /* the weights take few values: `levels` (by direction) are used instead */
    Levels levels[2];
    size_t rows; /* an offset into the scratch memory: states in the form that levels read, `row`
                    floats each */
    int64_t row;
} Panels;
typedef struct Inputs { /* the product of the input by levels; without these, Recurrent.product */
    bool by_levels;
    Levels levels[2]; /* one for each direction */
    int64_t rows;     /* of the input */
    size_t at, bytes; /* offsets into the scratch memory: the rows in the form that levels read, and
                         for each whether it consists of bytes (bool) */
    int parts;
} Inputs;
typedef struct Recurrent {
    int gates, directions, nout, npanels, parts; /* nout: outputs */
    bool reverse, option; /* option: the one boolean option of each operator (RECURRENT_OPTION) */
    int64_t times, batch, hidden, columns, time_stride, batch_stride; /* strides: of the sums of the
                                                                         product */
    View view[3 + INPUTS]; /* outputs (y, h, c), then inputs; rank -1: left out */
    View x;                /* the input as the step has it */
    Inputs inputs;
    Kernel product[2]; /* multiplies the input, one for each direction */
    size_t sums[2], product_work[2];
    Panels panels[2];
    Operand bias, peepholes;
    const float *zeros;
    size_t h, cell, step, gate; /* offsets into the scratch memory: states, cells, the sums of a
                                   step, the input of a gate */
} Recurrent;
typedef struct RecurrentRun {
    const Recurrent *r;
    void *const *slot;
    char *work;
    const Simd *simd;
    const float *whole[2], *last[2], *bias, *peepholes;
} RecurrentRun;

static const View *optional_input(const Recurrent *r, int k) { return &r->view[3 + k]; }
static bool is_given(const Recurrent *r, int k) { return optional_input(r, k)->rank >= 0; }
static float *float_at(const View *v, void *const slot[], int64_t place) {
    return (float *)slot[v->slot] + v->offset + place;
}
static float *scratch(const RecurrentRun *run, size_t at_byte) {
    return (float *)(run->work + at_byte);
}

/* ---- running */
static int64_t state_place(const View *v, int d, int64_t b) {
    return d * v->stride[0] + b * v->stride[1];
}
static void load_state(const RecurrentRun *run, int k, int d, int64_t b, float *to) {
    const Recurrent *r = run->r;
    const View *v = optional_input(r, k);
    if (!is_given(r, k)) memset(to, 0, (size_t)r->hidden * sizeof *to);
    else
        run->simd->load[CLASS_FLOAT][DT_FLOAT](to, float_at(v, run->slot, state_place(v, d, b)),
                                               v->stride[2], r->hidden);
}
static void store_row(const RecurrentRun *run, const View *v, int64_t place, const float *from) {
    run->simd->store[CLASS_FLOAT][DT_FLOAT](float_at(v, run->slot, place), v->stride[v->rank - 1],
                                            from, run->r->hidden);
}

typedef struct Rows { /* sequences first..first+n-1 of a direction, at one step */
    int d;
    int64_t first, n, step; /* step: of the sequences, from 0 */
    float *h, *cell, *sum, *gate;
} Rows;
/* Copies the bias of columns from..from+n-1 of the sums. */
static void bias_of(const RecurrentRun *run, int d, int64_t from, int64_t n, float *to) {
    const Recurrent *r = run->r;
    if (run->bias)
        memcpy(to, run->bias + (2 * d + 1) * r->gates * r->hidden + from, (size_t)n * sizeof *to);
    else memset(to, 0, (size_t)n * sizeof *to);
}
/* Computes the sums of panels k: the bias plus a times the panels. The last panel may compute
   columns of the one before again. */
static void multiply_floats(const RecurrentRun *run, int k, const Rows *w, const float *a) {
    const Recurrent *r = run->r;
    const Panels *p = &r->panels[k];
    const int64_t size = r->hidden * PANEL, whole = p->n / PANEL,
                  width = p->n < PANEL ? p->n : PANEL;
    for (int64_t j = 0; j * PANEL < p->n; j++) {
        const float *panel =
            j < whole ? run->whole[k] + (w->d * whole + j) * size : run->last[k] + w->d * size;
        const int64_t column = p->from + (j < whole || !whole ? j * PANEL : p->n - PANEL);
        float start[PANEL] = {0};
        bias_of(run, w->d, column, width, start);
        run->simd->panel(w->sum + column, r->columns, start, a, r->hidden, w->n, panel, r->hidden);
    }
}
/* Whether the states of a row lie within -1..1. Those of relu may not, and neither may initial
   states, which GRU also hands on to later steps. */
static bool are_bounded(const RecurrentRun *run, const float *row) {
    const Recurrent *r = run->r;
    float low = 0, high = 0;
    if (r->gates == RNN && r->option) return false;
    if (!is_given(r, H0)) return true;
    run->simd->total[CLASS_FLOAT][REDUCE_MIN](&low, row, r->hidden);
    run->simd->total[CLASS_FLOAT][REDUCE_MAX](&high, row, r->hidden);
    return low >= -1 && high <= 1;
}
/* The same with levels. The sums have room for a whole panel beyond the last column. */
static void multiply_levels(const RecurrentRun *run, int k, const Rows *w, const float *a) {
    const Recurrent *r = run->r;
    const Panels *p = &r->panels[k];
    const Levels *l = &p->levels[w->d];
    const int64_t size = levels_row(l);
    float *rows = scratch(run, p->rows) + (w->d * r->batch + w->first) * p->row;
    bool bytes[LEVEL_ROWS];
    for (int64_t j = 0; j < w->n; j++) {
        float *sum = w->sum + j * r->columns + p->from, *to = rows + j * size;
        const float *from = a + j * r->hidden;
        bytes[j] = are_bounded(run, from) && levels_enter_bytes(run->simd, l, to, from);
        if (!bytes[j]) levels_enter(run->simd, l, to, from, 1);
        bias_of(run, w->d, p->from, p->n, sum);
        memset(sum + p->n, 0, (size_t)(l->panels * PANEL - p->n) * sizeof *sum);
    }
    for (int64_t i = 0; i < l->panels; i++)
        for (int64_t j = 0, end; j < w->n; j = end) {
            for (end = j + 1; end < w->n && bytes[end] == bytes[j];) end++;
            levels_add(run->simd, l, i, w->sum + j * r->columns + p->from + i * PANEL, r->columns,
                       rows + j * size, end - j, bytes[j]);
        }
}
static void multiply(const RecurrentRun *run, int k, const Rows *w, const float *a) {
    if (run->r->panels[k].by_levels) multiply_levels(run, k, w, a);
    else multiply_floats(run, k, w, a);
}

static int64_t length_of(const RecurrentRun *run, int64_t b) {
    const View *v = optional_input(run->r, LENGTHS);
    return v->rank < 0
               ? run->r->times
               : element_integer((DType)v->dtype, run->slot[v->slot], v->offset + b * v->stride[0]);
}
/* The place in the sequence that a step computes; -1: the sequence has ended. */
static int64_t time_of(const RecurrentRun *run, const Rows *w, int64_t b) {
    const int64_t length = length_of(run, b);
    if (w->step >= length) return -1;
    return run->r->reverse || w->d ? length - 1 - w->step : w->step;
}
static const float *from_input(const RecurrentRun *run, const Rows *w, int64_t b, int64_t time) {
    const Recurrent *r = run->r;
    return scratch(run, r->sums[w->d]) +
           (time * r->time_stride + b * r->batch_stride) * r->gates * r->hidden;
}
static void reset_gate(const RecurrentRun *run, const Rows *w) {
    const Recurrent *r = run->r;
    for (int64_t j = 0; j < w->n; j++) {
        const int64_t time = time_of(run, w, w->first + j);
        if (time < 0) memset(w->gate + j * r->hidden, 0, (size_t)r->hidden * sizeof *w->gate);
        else
            run->simd->gru_reset(w->gate + j * r->hidden, w->h + j * r->hidden,
                                 from_input(run, w, w->first + j, time), w->sum + j * r->columns,
                                 r->hidden);
    }
}
static void gates(const RecurrentRun *run, const Rows *w, int64_t j, int64_t time) {
    const Recurrent *r = run->r;
    const float *x = from_input(run, w, w->first + j, time), *g = w->sum + j * r->columns;
    float *h = w->h + j * r->hidden;
    const float *peepholes = run->peepholes ? run->peepholes + w->d * 3 * r->hidden : r->zeros;
    if (r->gates == LSTM)
        run->simd->lstm(h, w->cell + j * r->hidden, x, g, peepholes, r->option, r->hidden);
    else if (r->gates == GRU) run->simd->gru(h, x, g, r->option, r->hidden);
    else run->simd->rnn(h, x, g, r->option, r->hidden);
}
static void run_step(const RecurrentRun *run, const Rows *w) {
    const Recurrent *r = run->r;
    const View *y = &r->view[0];
    multiply(run, 0, w, w->h);
    if (r->npanels > 1) {
        if (!r->option) reset_gate(run, w);
        multiply(run, 1, w, r->option ? w->h : w->gate);
    }
    for (int64_t j = 0; j < w->n; j++) {
        const int64_t b = w->first + j, time = time_of(run, w, b),
                      place = (time < 0 ? w->step : time) * y->stride[0] + w->d * y->stride[1] +
                              b * y->stride[2];
        if (time >= 0) gates(run, w, j, time);
        store_row(run, y, place, time < 0 ? r->zeros : w->h + j * r->hidden);
    }
}
static void run_rows(const RecurrentRun *run, int d, int64_t first, int64_t n) {
    const Recurrent *r = run->r;
    const int64_t row = d * r->batch + first;
    Rows w = {.d = d,
              .first = first,
              .n = n,
              .h = scratch(run, r->h) + row * r->hidden,
              .cell = scratch(run, r->cell) + row * r->hidden,
              .sum = scratch(run, r->step) + row * r->columns,
              .gate = scratch(run, r->gate) + row * r->hidden};
    for (int64_t j = 0; j < n; j++) {
        load_state(run, H0, d, first + j, w.h + j * r->hidden);
        load_state(run, C0, d, first + j, w.cell + j * r->hidden);
    }
    for (; w.step < r->times; w.step++) run_step(run, &w);
    for (int k = 1; k < r->nout; k++)
        for (int64_t j = 0; j < n; j++)
            store_row(run, &r->view[k], state_place(&r->view[k], d, first + j),
                      (k == 1 ? w.h : w.cell) + j * r->hidden);
}
static void run_recurrent_part(void *job, int part) {
    const RecurrentRun *run = job;
    const Recurrent *r = run->r;
    const int chunks = r->parts / r->directions, k = part / r->directions;
    const int64_t from = r->batch * k / chunks, to = r->batch * (k + 1) / chunks;
    run_rows(run, part % r->directions, from, to - from);
}
static bool lengths_fit(const RecurrentRun *run) {
    for (int64_t b = 0; b < run->r->batch; b++)
        if (length_of(run, b) < 0 || length_of(run, b) > run->r->times) return false;
    return true;
}
/* ---- the product of the input */
/* Whether no element exceeds the mean of the others so far that the others would lose digits when
   the row is represented by whole numbers. room: space for the row. */
static bool has_no_outlier(const Simd *simd, const float *row, int64_t n, float *room) {
    enum { FAR = 16 };
    double sum = 0;
    float most = 0;
    simd->op[CLASS_FLOAT][C_ABS](room, row, row, n);
    simd->total[CLASS_FLOAT][REDUCE_SUM](&sum, room, n);
    simd->total[CLASS_FLOAT][REDUCE_MAX](&most, room, n);
    return (double)most * (double)(n - 1) <= FAR * (sum - (double)most);
}
static bool *are_bytes(const RecurrentRun *run) {
    return (bool *)(run->work + run->r->inputs.bytes);
}
/* Brings the rows of the input into the form in which the levels of direction d read them. */
static void enter_inputs(const RecurrentRun *run, int d) {
    const Recurrent *r = run->r;
    const View *x = &r->x;
    const Levels *l = &r->inputs.levels[d];
    bool *bytes = are_bytes(run);
    for (int64_t j = 0; j < r->inputs.rows; j++) {
        const float *from =
            float_at(x, run->slot, j / x->dim[1] * x->stride[0] + j % x->dim[1] * x->stride[1]);
        float *to = scratch(run, r->inputs.at) + j * levels_row(l);
        bytes[j] = has_no_outlier(run->simd, from, x->dim[2], to) &&
                   levels_enter_bytes(run->simd, l, to, from);
        if (!bytes[j]) levels_enter(run->simd, l, to, from, 1);
    }
}
typedef struct InputRun {
    const RecurrentRun *run;
    int d;
} InputRun;
static void multiply_inputs(void *job, int part) {
    const InputRun *in = job;
    const Recurrent *r = in->run->r;
    const Inputs *inputs = &r->inputs;
    const Levels *l = &inputs->levels[in->d];
    const int64_t columns = r->gates * r->hidden;
    const bool *bytes = are_bytes(in->run);
    const float *rows = scratch(in->run, inputs->at);
    float *sum = scratch(in->run, r->sums[in->d]), none[PANEL] = {0};
    const float *bias = in->run->bias ? in->run->bias + 2 * in->d * columns : NULL;
    for (int64_t k = l->panels * part / inputs->parts; k < l->panels * (part + 1) / inputs->parts;
         k++) {
        float *to = sum + k * PANEL;
        const float *start = bias ? bias + k * PANEL : none;
        for (int64_t j = 0; j < inputs->rows; j++)
            memcpy(to + j * columns, start, PANEL * sizeof *to);
        for (int64_t j = 0, end; j < inputs->rows; j = end) {
            for (end = j + 1; end < inputs->rows && bytes[end] == bytes[j];) end++;
            levels_add(in->run->simd, l, k, to + j * columns, columns, rows + j * levels_row(l),
                       end - j, bytes[j]);
        }
    }
}
static int run_product(const Kernel *k, const RecurrentRun *run, int d) {
    const Recurrent *r = run->r;
    const View *x = optional_input(r, X), *w = optional_input(r, W),
               *bias = optional_input(r, BIAS);
    if (r->inputs.by_levels) {
        InputRun in = {run, d};
        enter_inputs(run, d);
        team_run(k->device->team, r->inputs.parts, multiply_inputs, &in);
        return 0;
    }
    void *const own[] = {run->work + r->sums[d], run->slot[x->slot], run->slot[w->slot],
                         bias->rank < 0 ? NULL : run->slot[bias->slot]};
    return r->product[d].run(&r->product[d], own, run->work + r->product_work[d]);
}
static int recurrent_run(const Kernel *k, void *const slot[], void *work) {
    const Recurrent *r = k->self;
    RecurrentRun run = {.r = r, .slot = slot, .work = work, .simd = k->device->simd};
    if (!lengths_fit(&run)) return -1;
    for (int j = 0; j < r->npanels; j++) {
        const Panels *p = &r->panels[j];
        if (p->by_levels) continue;
        if (p->n >= PANEL) run.whole[j] = operand_at(&p->whole, slot, work);
        if (p->n % PANEL) run.last[j] = operand_at(&p->last, slot, work);
    }
    if (is_given(r, BIAS)) run.bias = operand_at(&r->bias, slot, work);
    if (is_given(r, PEEPHOLES)) run.peepholes = operand_at(&r->peepholes, slot, work);
    for (int d = 0; d < r->directions; d++)
        if (run_product(k, &run, d)) return -1;
    if (r->parts > 1) team_run(k->device->team, r->parts, run_recurrent_part, &run);
    else
        for (int d = 0; d < r->directions; d++) run_rows(&run, d, 0, r->batch);
    return 0;
}

/* ---- making */
static View axes(const View *v, int a, int b, int c, int d) {
    return view_axes(v, v->rank, (const int[]){a, b, c, d});
}
/* Takes the views, with the axes of time and direction before the batch. False: types or sizes are
   not supported. */
static bool take_views(const Step *s, Recurrent *r) {
    const bool batch_first = s->param[RECURRENT_BATCH_FIRST] != 0;
    r->nout = (int)s->param[OP_OUTPUTS];
    for (int k = 0; k < 3 + INPUTS; k++) {
        const int from = k < 3 ? k : r->nout + k - 3;
        const bool there = k < 3 ? k < r->nout : from < s->nview;
        View *v = &r->view[k];
        *v = there ? s->view[from] : (View){.slot = -1, .rank = -1};
        if (v->rank < 0) continue;
        if (view_count(v) == 0 || (k != 3 + LENGTHS && v->dtype != DT_FLOAT)) return false;
        if (!batch_first) continue;
        if (k == 0) *v = axes(v, 1, 2, 0, 3);
        else if (k < 3 || k == 3 + X || k == 3 + H0 || k == 3 + C0) *v = axes(v, 1, 0, 2, 0);
    }
    return r->view[0].rank == 4 && optional_input(r, X)->rank == 3;
}
static bool pack_levels(Build *b, const Recurrent *r, Panels *p) {
    const View *w = optional_input(r, R);
    if (!levels_worth(r->batch, r->hidden * p->n)) return false;
    for (int d = 0; d < r->directions; d++) {
        const View of = {.slot = w->slot,
                         .dtype = w->dtype,
                         .rank = 2,
                         .offset = w->offset + d * w->stride[0] + p->from * w->stride[1],
                         .dim = {r->hidden, p->n},
                         .stride = {w->stride[2], w->stride[1]}};
        if (!levels_pack(b, r->nout + R, &of, &p->levels[d])) return false;
        if (levels_row(&p->levels[d]) > p->row) p->row = levels_row(&p->levels[d]);
    }
    p->rows = build_bytes(b, (size_t)(r->directions * r->batch * p->row) * sizeof(float));
    return true;
}
static bool pack_panels(Build *b, Recurrent *r, Panels *p, int64_t from, int64_t n) {
    const View *w = optional_input(r, R);
    const int64_t d = r->directions, h = r->hidden, width = n < PANEL ? n : PANEL;
    *p = (Panels){.from = from, .n = n};
    if ((p->by_levels = pack_levels(b, r, p))) return true;
    View last = {.slot = w->slot,
                 .dtype = w->dtype,
                 .rank = 3,
                 .offset = w->offset + (from + n - width) * w->stride[1],
                 .dim = {d, h, width},
                 .stride = {w->stride[0], w->stride[2], w->stride[1]}},
         whole = {.slot = w->slot,
                  .dtype = w->dtype,
                  .rank = 4,
                  .offset = w->offset + from * w->stride[1],
                  .dim = {d, n / PANEL, h, PANEL},
                  .stride = {w->stride[0], PANEL * w->stride[1], w->stride[2], w->stride[1]}};
    if (n >= PANEL && !operand_pack_as(b, r->nout + R, &whole, DT_FLOAT, &p->whole)) return false;
    if (n % PANEL == 0) return true;
    if (n > PANEL) return operand_pack_as(b, r->nout + R, &last, DT_FLOAT, &p->last);
    p->last.view = build_scratch(b, DT_FLOAT, 3, (const int64_t[]){d, h, PANEL});
    p->last.view.dim[2] = n;
    p->last.copy = copy_new(b, &p->last.view, &last);
    return p->last.copy != NULL;
}

/* Packs the weights of the input as levels. False: they are not packed, because floats are as fast
   or faster. */
static bool pack_inputs(Build *b, Recurrent *r) {
    Inputs *in = &r->inputs;
    const View *w = optional_input(r, W);
    const int64_t columns = r->gates * r->hidden;
    const bool bytes = b->device->simd->levels_by_bytes && processor_adds_four();
    r->x = b->step->view[r->nout + X];
    in->rows = r->x.dim[0] * r->x.dim[1];
    if (r->x.stride[2] != 1 || columns % PANEL != 0 || !levels_worth(1, w->dim[2] * columns) ||
        (in->rows > FEW_INPUTS && !bytes))
        return false;
    int64_t row = 0;
    for (int d = 0; d < r->directions; d++) {
        const View of = {.slot = w->slot,
                         .dtype = w->dtype,
                         .rank = 2,
                         .offset = w->offset + d * w->stride[0],
                         .dim = {w->dim[2], columns},
                         .stride = {w->stride[2], w->stride[1]}};
        Levels *l = &in->levels[d];
        if (!levels_pack(b, r->nout + W, &of, l) ||
            (in->rows > FEW_INPUTS && (l->bits != 8 || l->blocks > 1)))
            return false;
        if (levels_row(l) > row) row = levels_row(l);
    }
    in->at = build_bytes(b, (size_t)(in->rows * row) * sizeof(float));
    in->bytes = build_bytes(b, (size_t)in->rows * sizeof(bool));
    in->parts = count_parts(b, in->levels[0].panels, in->rows * columns, (double)w->dim[2] / 100);
    return true;
}
/* Builds the product of the input for all steps of a direction, plus the bias. It has slots of its
   own: sums, x, w, bias. */
static bool make_product(Build *b, Recurrent *r, int d) {
    View x = b->step->view[r->nout + X];
    const View *w = optional_input(r, W), *bias = optional_input(r, BIAS);
    const int64_t sizes[] = {x.dim[0], x.dim[1], r->gates * r->hidden};
    View view[4] = {view_dense(0, DT_FLOAT, 3, sizes), x, view[0], view[0]};
    const void *weights[4] = {NULL};
    for (int k = 1; k < 4 && b->weights; k++)
        weights[k] = k == 3 && bias->rank < 0 ? NULL
                                              : b->weights[r->nout + (k == 1   ? X
                                                                      : k == 2 ? W
                                                                               : BIAS)];
    view[1].slot = 1;
    view[2] = (View){.slot = 2,
                     .dtype = DT_FLOAT,
                     .rank = 3,
                     .offset = w->offset + d * w->stride[0],
                     .dim = {sizes[0], w->dim[2], sizes[2]},
                     .stride = {0, w->stride[2], w->stride[1]}};
    view[3].slot = 3, view[3].stride[0] = view[3].stride[1] = 0;
    if (bias->rank >= 0)
        view[3].offset = bias->offset + d * bias->stride[0], view[3].stride[2] = bias->stride[1];
    static const Scalar add[] = {
        {.op = C_ACC}, {.op = C_VIEW, .a = 3}, {.op = C_ADD, .a = 0, .b = 1}};
    const Step step = {.kind = S_GEMM,
                       .nview = bias->rank < 0 ? 3 : 4,
                       .view = view,
                       .ncode = bias->rank < 0 ? 0 : 3,
                       .code = add};
    Kernel *product = &r->product[d];
    Build own = *b;
    product->device = b->device, product->arena = b->arena;
    own.kernel = product, own.step = &step, own.weights = weights, own.workspace = 0;
    if (!gemm_maker.choices(b->device, &step) || !gemm_maker.build(&own, 0, product)) return false;
    r->product_work[d] = build_bytes(b, own.workspace);
    return true;
}

/* The number of parts: each direction is cut into equally many. */
static int parts_of(const Build *b, const Recurrent *r) {
    const int64_t most = r->directions * r->batch, sums = r->times * most * r->columns;
    const int each = count_parts(b, most, sums, 1 + (double)r->hidden / 20) / r->directions;
    return each ? each * r->directions : 1;
}
static void recurrent_forget(Kernel *k) {
    Recurrent *r = k->self;
    for (int d = 0; d < r->directions && !r->inputs.by_levels; d++) kernel_forget(&r->product[d]);
}
static bool recurrent_new(Build *b, Recurrent *r) {
    const int64_t rows = r->directions * r->batch, h = r->hidden;
    const int split = r->gates == GRU ? 2 : r->gates;
    r->npanels = r->gates == GRU ? 2 : 1;
    if (!pack_panels(b, r, &r->panels[0], 0, split * h)) return false;
    if (r->npanels > 1 && !pack_panels(b, r, &r->panels[1], split * h, h)) return false;
    if (is_given(r, BIAS) && !operand_pack(b, r->nout + BIAS, DT_FLOAT, &r->bias)) return false;
    if (is_given(r, PEEPHOLES) && !operand_pack(b, r->nout + PEEPHOLES, DT_FLOAT, &r->peepholes))
        return false;
    r->inputs.by_levels = pack_inputs(b, r);
    for (int d = 0; d < r->directions; d++) {
        r->sums[d] = build_bytes(b, (size_t)(r->times * rows / r->directions * r->gates * h) *
                                        sizeof(float));
        if (!r->inputs.by_levels && !make_product(b, r, d)) return false;
    }
    r->columns = r->gates * h + PANEL;
    r->zeros = memset(arena_alloc(b->arena, 3 * (size_t)h * sizeof(float)), 0,
                      3 * (size_t)h * sizeof(float));
    r->h = build_bytes(b, (size_t)(rows * h) * sizeof(float));
    r->cell = build_bytes(b, (size_t)(rows * h) * sizeof(float));
    r->gate = build_bytes(b, (size_t)(rows * h) * sizeof(float));
    r->step = build_bytes(b, (size_t)(rows * r->columns) * sizeof(float));
    r->parts = parts_of(b, r);
    return true;
}
/* The inputs that no run reads because the kernel has packed them. */
static uint64_t packed_views(const Recurrent *r) {
    uint64_t bits = 0;
    bool w = true, all = true;
    for (int d = 0; d < r->directions; d++)
        w = w && (r->inputs.by_levels || r->product[d].packed >> 2 & 1);
    for (int j = 0; j < r->npanels; j++) {
        const Panels *p = &r->panels[j];
        all = all && (p->by_levels || ((p->n < PANEL || p->whole.constant) &&
                                       (p->n % PANEL == 0 || p->last.constant)));
    }
    if (w) bits |= UINT64_C(1) << (r->nout + W);
    if (all) bits |= UINT64_C(1) << (r->nout + R);
    return bits;
}
bool recurrent_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const Step *s = b->step;
    Recurrent *r = ARENA_NEW(b->arena, Recurrent, 1);
    if (!take_views(s, r)) return false;
    const View *x = optional_input(r, X), *weights = optional_input(r, R);
    r->gates = (int)(weights->dim[1] / weights->dim[2]);
    r->directions = (int)weights->dim[0], r->hidden = weights->dim[2];
    r->times = x->dim[0], r->batch = x->dim[1];
    r->time_stride = s->param[RECURRENT_BATCH_FIRST] ? 1 : r->batch,
    r->batch_stride = s->param[RECURRENT_BATCH_FIRST] ? r->times : 1;
    r->reverse = s->param[RECURRENT_DIRECTION] == RECURRENT_REVERSE,
    r->option = s->param[RECURRENT_OPTION] != 0;
    k->self = r, k->forget = recurrent_forget, k->run = recurrent_run;
    if (!recurrent_new(b, r)) return recurrent_forget(k), k->forget = NULL, false;
    k->packed = packed_views(r);
    return true;
}
