/* rows.c -- plans steps over rows: softmaxes and normalizations with the operations next to them.
   Some rows are processed at a time, so that intermediate values stay in the cache.

   A tile is some whole rows. A long row is cut into blocks; then values that vary along the row are
   computed again after each reduction. Rows that lie side by side in memory (a stride of 1 from row
   to row) are transposed when they are read and written. Sums are kept in doubles. Each row is
   computed by itself, so results are the same for any number of threads. */
#include "ops/cpu/rows.h"
#include <string.h>

/* ---- which steps */
/* LEAST_COLUMNS: of shorter rows the separate steps compute several at once, and are as fast or
   faster (normalizations of 4096 rows, measured for 8 to 31 columns). LEAST_SOFTMAX: the same for
   rows of which exponentials are taken (measured for the same rows). LEAST_LONG_ROWS: rows that
   are cut into blocks; fewer of them are too few for several threads. LEAST_CROSSED: rows side by
   side from which transposing them pays. CROSSED_MOST: elements of a transposed tile, which with
   its copies fits into the second level of the cache. CROSSED_BLOCK: columns of a transposed block
   of long rows. SHORT_RUN: elements of a run that is copied without a call. */
enum {
    LEAST_COLUMNS = 10,
    LEAST_SOFTMAX = 32,
    LEAST_LONG_ROWS = 8,
    LEAST_CROSSED = 4,
    CROSSED_MOST = 1 << 15,
    CROSSED_BLOCK = 256,
    SHORT_RUN = 32
};
static bool reads_earlier(const Step *s, int i) {
    const Scalar *c = &s->code[i];
    if (c->op >= SCALAR_OP_COUNT || c->op == C_ACC) return false;
    if (c->op == C_VIEW) return c->a > 0 && c->a < s->nview;
    const int n = scalar_values(c->op), of[] = {c->a, c->b, c->c};
    for (int k = 0; k < n; k++)
        if (of[k] >= i) return false;
    return true;
}
static bool rows_well_formed(const Step *s) {
    const View *y = &s->view[0];
    if (s->nparam != 1 || s->param[ROWS_AXES] < 1 || s->param[ROWS_AXES] > y->rank ||
        view_class(y, 1) != CLASS_FLOAT || s->nview > ROWS_VIEWS || s->ncode < 1 ||
        s->ncode > ROWS_CODE)
        return false;
    for (int j = 0; j < s->nview; j++)
        if (!dtype_numeric(s->view[j].dtype) || s->view[j].rank != y->rank ||
            memcmp(s->view[j].dim, y->dim, (size_t)y->rank * sizeof *y->dim) != 0)
            return false;
    for (int i = 0; i < s->ncode; i++)
        if (!reads_earlier(s, i)) return false;
    return view_class(s->view, s->nview) == CLASS_FLOAT;
}
/* Counts the instructions that cost more than reading a value again. */
static int count_costly(const Step *s) {
    int n = 0;
    for (int i = 0; i < s->ncode; i++) n += op_is_function(s->code[i].op);
    return n;
}
static bool has_exponential(const Step *s) {
    for (int i = 0; i < s->ncode; i++)
        if (s->code[i].op == C_EXP) return true;
    return false;
}
/* Whether there are activations, which element-wise programs compute in fewer passes (joined.c). */
static bool has_activation(const Step *s) {
    for (int i = 0; i < s->ncode; i++)
        if (activation_gate(s->code[i].op)) return true;
    return false;
}
/* Steps of any layout are accepted, because the planner may choose another layout later. */
static int rows_choices(const Device *d, const Step *s) {
    (void)d;
    if (!rows_well_formed(s) || has_activation(s)) return 0;
    const View *y = &s->view[0];
    int64_t columns = 1;
    for (int a = y->rank - (int)s->param[ROWS_AXES]; a < y->rank; a++) columns *= y->dim[a];
    if (columns > WHOLE_ROW)
        return view_count(y) >= LEAST_LONG_ROWS * columns && count_costly(s) < 2;
    return columns >= (has_exponential(s) ? LEAST_SOFTMAX : LEAST_COLUMNS);
}

/* ---- what is computed when */
/* Phase p computes what lies between reductions of level p and p + 1. `done`: values that an
   earlier phase has computed and that are still in their registers; `marked`: values that the
   current phase computes. */
typedef struct Planning {
    Build *b;
    Rows *r;
    bool blocked, done[ROWS_CODE], marked[ROWS_CODE]; /* blocked: rows are cut into blocks */
    int last[ROWS_CODE];  /* the position of the last entry that reads the value */
    int nspare, position; /* position: the number of the current entry */
    size_t spare[ROWS_CODE];
} Planning;

static bool is_reduction(const Value *v) {
    return v->form == FORM_SUM || v->form == FORM_MAX || v->form == FORM_SQUARES;
}
static int values_read(const Value *v, int of[4]) {
    int n = v->form == FORM_OP ? scalar_values(v->code.op) : 0;
    of[0] = v->code.a, of[1] = v->code.b, of[2] = v->code.c;
    if (v->x >= 0) of[n++] = v->x;
    return n;
}
/* Marks the values that phase p computes for each element. */
static void mark_phase(Planning *m, int p) {
    const Rows *r = m->r;
    int of[4];
    for (int i = 0; i < r->ncode; i++)
        m->marked[i] =
            r->value[i].needed && is_reduction(&r->value[i]) && r->value[i].level == p + 1;
    if (p == r->nphase - 1) m->marked[r->ncode - 1] = r->value[r->ncode - 1].kind == KIND_FULL;
    for (int i = r->ncode - 1; i >= 0; i--) {
        if (!m->marked[i] || m->done[i]) continue;
        for (int k = values_read(&r->value[i], of) - 1; k >= 0; k--)
            if (r->value[of[k]].kind == KIND_FULL) m->marked[of[k]] = true;
    }
    for (int i = 0; i < r->ncode; i++) m->marked[i] = m->marked[i] && !m->done[i];
}
static void plan_phase(Planning *m, int p) {
    Rows *r = m->r;
    Phase *phase = &r->phase[p];
    phase->row = ARENA_NEW(m->b->arena, int, r->ncode);
    phase->sum = ARENA_NEW(m->b->arena, int, r->ncode);
    phase->entry = ARENA_NEW(m->b->arena, Entry, r->ncode);
    mark_phase(m, p);
    for (int i = 0; i < r->ncode; i++) {
        const Value *v = &r->value[i];
        const bool sum = is_reduction(v);
        if (v->needed && v->kind == KIND_ROW && !sum && v->level == p)
            phase->row[phase->nrow++] = i;
        if (!m->marked[i]) continue;
        if (sum) phase->sum[phase->nsum++] = i;
        phase->entry[phase->nentry++].value = i;
        m->done[i] = !m->blocked;
    }
}
/* Finds the last reader of each value in phases from..to-1. Registers are assigned over all phases
   at once if values stay in them from one phase to the next. */
static void find_last_reads(Planning *m, int from, int to) {
    int of[4], position = 0;
    for (int i = 0; i < m->r->ncode; i++) m->last[i] = -1;
    for (int p = from; p < to; p++)
        for (int e = 0; e < m->r->phase[p].nentry; e++, position++) {
            const int n = values_read(&m->r->value[m->r->phase[p].entry[e].value], of);
            for (int k = 0; k < n; k++) m->last[of[k]] = position;
        }
    m->last[m->r->ncode - 1] = position;
    m->position = 0;
}
static void assign_register(Planning *m, Entry *e, size_t at[]) {
    const Value *v = &m->r->value[e->value];
    int of[4];
    for (int k = values_read(v, of) - 1; k >= 0; k--) {
        if (m->r->value[of[k]].kind != KIND_FULL || m->last[of[k]] != m->position) continue;
        if (!m->r->value[of[k]].only_summed) m->spare[m->nspare++] = at[of[k]];
        m->last[of[k]] = -1;
    }
    m->position++;
    if (is_reduction(v) || v->only_summed) return;
    if (!m->nspare)
        m->spare[m->nspare++] =
            build_bytes(m->b, (size_t)(m->r->block * m->r->rows) * sizeof(float));
    e->at = at[e->value] = m->spare[--m->nspare];
}
static void assign_registers(Planning *m, int from, int to) {
    size_t at[ROWS_CODE];
    find_last_reads(m, from, to);
    for (int p = from; p < to; p++)
        for (int e = 0; e < m->r->phase[p].nentry; e++)
            assign_register(m, &m->r->phase[p].entry[e], at);
}
/* Places everything that is not a tile: the numbers of rows and columns, spread values, and
   accumulators. */
static void place_numbers(Build *b, Rows *r) {
    const size_t tile = (size_t)(r->block * r->rows) * sizeof(float);
    for (int i = 0; i < r->ncode; i++) {
        Value *v = &r->value[i];
        if (!v->needed) continue;
        if (v->kind != KIND_FULL)
            v->at = build_bytes(b, v->kind == KIND_COLUMN ? tile : TILE_ROWS * sizeof(float));
        if (v->spread && v->kind != KIND_FULL) v->spread_at = build_bytes(b, tile);
        if (is_reduction(v)) v->acc = build_bytes(b, TILE_ROWS * sizeof(double));
    }
}
static void plan_phases(Build *b, Rows *r, bool blocked) {
    Planning *m = ARENA_NEW(b->scratch, Planning, 1);
    m->b = b, m->r = r, m->blocked = blocked;
    r->nphase = r->value[r->ncode - 1].level + 1;
    r->phase = ARENA_NEW(b->arena, Phase, r->nphase);
    for (int p = 0; p < r->nphase; p++) plan_phase(m, p);
    place_numbers(b, r);
    if (r->has_halves) r->turned = build_bytes(b, (size_t)(r->block * r->rows) * sizeof(float));
    if (!blocked) assign_registers(m, 0, r->nphase);
    for (int p = 0; blocked && p < r->nphase; p++) assign_registers(m, p, p + 1);
}

/* ---- making */
static bool varies(const View *v, int from, int to) {
    for (int a = from; a < to; a++)
        if (v->dim[a] > 1 && v->stride[a] != 0) return true;
    return false;
}
static Kind view_kind(const View *v, int row_rank) {
    const bool rows = varies(v, 0, v->rank - row_rank),
               columns = varies(v, v->rank - row_rank, v->rank);
    return columns ? rows ? KIND_FULL : KIND_COLUMN : rows ? KIND_ROW : KIND_NUMBER;
}
/* Whether y's rows lie side by side in memory, and there are enough of them. */
static bool is_crossed(const Rows *r) {
    const int last = r->outer.rank - 1;
    return r->view[0].whole && r->view[0].stride != 1 && r->outer.stride[last] == 1 &&
           r->outer.dim[last] >= LEAST_CROSSED;
}
/* Finds the runs of a row, given its strides: floats one after another along its last axis, and one
   distance between runs along the others. */
static void find_runs(const Rows *r, const int64_t stride[], RowView *v) {
    const int last = r->inner.rank - 1;
    if (v->whole || v->stride != 1 || v->view.dtype != DT_FLOAT || r->inner.dim[last] > SHORT_RUN)
        return;
    for (int a = 1; a < last; a++)
        if (stride[a - 1] != stride[a] * r->inner.dim[a]) return;
    v->run = r->inner.dim[last], v->run_step = stride[last - 1];
}
static void make_views(Build *b, Rows *r) {
    const Step *s = b->step;
    const int row_rank = (int)s->param[ROWS_AXES], outer_rank = s->view[0].rank - row_rank;
    View *part = ARENA_NEW(b->scratch, View, 2 * s->nview);
    const View **list = ARENA_NEW(b->scratch, const View *, 2 * s->nview);
    r->nview = s->nview;
    r->view = ARENA_NEW(b->arena, RowView, s->nview);
    for (int j = 0; j < s->nview; j++) {
        View *outer = &part[j], *inner = &part[s->nview + j];
        *outer = *inner = s->view[j];
        outer->rank = outer_rank, inner->rank = row_rank;
        for (int a = 0; a < row_rank; a++) {
            inner->dim[a] = s->view[j].dim[outer_rank + a];
            inner->stride[a] = s->view[j].stride[outer_rank + a];
        }
        list[j] = outer, list[s->nview + j] = inner;
    }
    r->outer = nest_new(b->arena, list, s->nview);
    r->inner = nest_new(b->arena, list + s->nview, s->nview);
    nest_with_axis(&r->outer), nest_with_axis(&r->inner);
    r->columns = r->inner.count;
    for (int j = 0; j < s->nview; j++) {
        RowView *v = &r->view[j];
        const int64_t *stride = r->inner.stride + (int64_t)j * STEP_RANK;
        *v = (RowView){.view = s->view[j], .kind = view_kind(&s->view[j], row_rank), .whole = true};
        v->stride = stride[r->inner.rank - 1], v->size = dtype_size(v->view.dtype);
        v->load = r->simd->load[CLASS_FLOAT][v->view.dtype];
        v->floats = view_class(&v->view, 1) == CLASS_FLOAT;
        r->has_halves = r->has_halves || (v->floats && v->size < 4);
        for (int a = 0; a < r->inner.rank - 1; a++)
            v->whole = v->whole && stride[a] == stride[a + 1] * r->inner.dim[a + 1];
        find_runs(r, stride, v);
    }
    r->crossed = is_crossed(r);
}
static void choose_tile(Rows *r) {
    const int64_t length = r->outer.dim[r->outer.rank - 1];
    r->block = r->columns > WHOLE_ROW ? r->crossed ? CROSSED_BLOCK : TILE : r->columns;
    r->rows = TILE / r->block;
    if (r->crossed && r->rows < CROSSED_ROWS) r->rows = CROSSED_ROWS;
    while (r->rows > 1 && r->rows * r->block > CROSSED_MOST) r->rows /= 2;
    if (r->rows > TILE_ROWS) r->rows = TILE_ROWS;
    if (r->rows > length) r->rows = length;
    if (r->rows < 1 || (r->block < r->columns && !r->crossed)) r->rows = 1;
    r->tiles = (length + r->rows - 1) / r->rows;
}
static void load_values(Build *b, Rows *r, bool blocked, Kind kind[]) {
    const Step *s = b->step;
    Scalar own[ROWS_CODE];
    r->ncode = s->ncode;
    r->value = ARENA_NEW(b->arena, Value, s->ncode);
    program_read_once(b, s->view, s->code, s->ncode, own);
    for (int i = 0; i < s->ncode; i++) r->value[i].code = own[i];
    for (int j = 0; j < s->nview; j++) {
        kind[j] = r->view[j].kind;
        if (blocked && kind[j] == KIND_COLUMN) kind[j] = KIND_FULL;
    }
}

typedef struct Job {
    const Rows *rows;
    void *const *slot;
    void *work;
} Job;
static void run_rows_part(void *job, int k) {
    const Job *j = job;
    rows_run_part(j->rows, j->slot, j->work, k);
}
static int rows_run(const Kernel *k, void *const slot[], void *work) {
    Job j = {k->self, slot, work};
    team_run(k->device->team, j.rows->parts, run_rows_part, &j);
    return 0;
}
static bool rows_build(Build *b, int choice, Kernel *k) {
    const Step *s = b->step;
    Rows *r = ARENA_NEW(b->arena, Rows, 1);
    Kind kind[ROWS_VIEWS];
    (void)choice;
    r->simd = b->device->simd;
    make_views(b, r);
    choose_tile(r);
    const bool blocked = r->block < r->columns;
    load_values(b, r, blocked, kind);
    if (!rows_analyze(r->simd, kind, r->value, r->ncode))
        return build_fail(b, "rows: its program has an operation that floats do not have");
    r->begin = build_bytes(b, 0);
    plan_phases(b, r, blocked);
    r->each = build_bytes(b, 0) - r->begin;
    const int64_t tiles = r->outer.count / r->outer.dim[r->outer.rank - 1] * r->tiles;
    r->parts = count_parts(b, tiles, view_count(&s->view[0]) * (4 + s->ncode), 0.125);
    build_bytes(b, (size_t)(r->parts - 1) * r->each);
    k->run = rows_run, k->self = r;
    return true;
}
const Maker rows_maker = {.choices = rows_choices, .build = rows_build};
