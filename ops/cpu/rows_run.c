/* rows_run.c -- runs a step over rows (rows.c), tile by tile. */
#include "ops/cpu/rows.h"
#include <math.h>
#include <string.h>

typedef struct RowTile {
    const Rows *r;
    char *work, *base[ROWS_VIEWS]; /* base: the first row of the tile in each view */
    int64_t rows, from, columns;   /* of the block: its first column and its number of columns */
    int64_t spread_columns; /* the number of columns along which numbers of rows are spread */
    float *at[ROWS_CODE], *spread[ROWS_CODE]; /* each value, and its spread form */
} RowTile;

static float *room(const RowTile *t, size_t at) { return (float *)(void *)(t->work + at); }
/* Value i in the form in which instruction `reader` reads it. */
static const float *operand(const RowTile *t, const Value *reader, int i) {
    const Kind kind = t->r->value[i].kind;
    const bool row = reader->kind == KIND_ROW && kind == KIND_NUMBER;
    return kind == reader->kind || row ? t->at[i] : t->spread[i];
}
static void run_op(const RowTile *t, int i, float *to, int64_t n) {
    const Value *v = &t->r->value[i];
    const int operands = scalar_values(v->code.op);
    const float *a = operand(t, v, v->code.a), *b = operands > 1 ? operand(t, v, v->code.b) : a;
    if (v->op) v->op(to, a, b, n);
    else t->r->simd->where[CLASS_FLOAT](to, a, b, operand(t, v, v->code.c), n);
}

/* ---- values that are not tiles: numbers, rows and columns */
static void fill(float *to, float number, int64_t n) {
    for (int64_t j = 0; j < n; j++) to[j] = number;
}
/* Spreads each row's number along the row. */
static void spread_rows(const RowTile *t, int i) {
    const int64_t n = t->spread_columns;
    if (!t->r->value[i].spread) return;
    for (int64_t r = 0; r < t->rows; r++) fill(t->spread[i] + r * n, t->at[i][r], n);
}
static void make_number(RowTile *t, int i) {
    const Value *v = &t->r->value[i];
    const RowView *view = &t->r->view[v->code.a];
    if (v->form == FORM_CONSTANT) fill(t->at[i], (float)v->code.k, TILE_ROWS);
    else if (v->form == FORM_LOAD) view->load(t->at[i], t->base[v->code.a], 0, TILE_ROWS);
    else run_op(t, i, t->at[i], TILE_ROWS);
    if (v->spread) fill(t->spread[i], t->at[i][0], t->r->block * t->r->rows);
}
/* For elements first..first+n-1 of a row: sets *at to the offset of the first one from the row's
   beginning, and returns how many of them follow with one stride. */
static int64_t next_piece(const Rows *r, int view, int64_t first, int64_t n, int64_t *at) {
    const Nest *rows = &r->inner;
    const int64_t *stride = rows->stride + (int64_t)view * STEP_RANK;
    const int last = rows->rank - 1;
    if (r->view[view].whole) return *at = first * r->view[view].stride, n;
    int64_t rest = first / rows->dim[last];
    const int64_t place = first % rows->dim[last], room = rows->dim[last] - place;
    *at = place * stride[last];
    for (int a = last - 1; a >= 0; rest /= rows->dim[a--]) *at += rest % rows->dim[a] * stride[a];
    return n < room ? n : room;
}
/* Whether n elements from `first` on are whole short runs. */
static bool whole_runs(const RowView *v, int64_t first, int64_t n) {
    return v->run && first % v->run == 0 && n % v->run == 0;
}
/* Copies n elements in runs, with these distances between the beginnings of runs. */
static void copy_runs(float *to, int64_t to_step, const float *from, int64_t from_step, int64_t run,
                      int64_t n) {
    enum { TOGETHER = 4 };
    for (; n > 0; n -= run, to += to_step, from += from_step) {
        int64_t k = 0;
        for (; k + TOGETHER <= run; k += TOGETHER) memcpy(to + k, from + k, TOGETHER * sizeof *to);
        for (; k < run; k++) to[k] = from[k];
    }
}
static void load_row(const Rows *r, int view, float *to, const char *row, int64_t first,
                     int64_t n) {
    const RowView *v = &r->view[view];
    if (whole_runs(v, first, n)) {
        const float *from = (const float *)(const void *)row + first / v->run * v->run_step;
        copy_runs(to, v->run, from, v->run_step, v->run, n);
        return;
    }
    for (int64_t piece, at; n > 0; n -= piece, first += piece, to += piece) {
        piece = next_piece(r, view, first, n, &at);
        v->load(to, row + at * v->size, v->stride, piece);
    }
}
static void store_row(const Rows *r, char *row, const float *from, int64_t first, int64_t n) {
    const RowView *v = &r->view[0];
    if (whole_runs(v, first, n)) {
        float *to = (float *)(void *)row + first / v->run * v->run_step;
        copy_runs(to, v->run_step, from, v->run, v->run, n);
        return;
    }
    for (int64_t piece, at; n > 0; n -= piece, first += piece, from += piece) {
        piece = next_piece(r, 0, first, n, &at);
        r->simd->store[CLASS_FLOAT][r->view[0].view.dtype](row + at * r->view[0].size,
                                                           r->view[0].stride, from, piece);
    }
}
static void make_column(RowTile *t, int i) {
    const Value *v = &t->r->value[i];
    const RowView *view = &t->r->view[v->code.a];
    const int64_t n = t->r->columns;
    if (v->form != FORM_LOAD) run_op(t, i, t->at[i], n);
    else if (view->view.dtype == DT_FLOAT && view->stride == 1 && view->whole)
        t->at[i] = (float *)(void *)t->base[v->code.a];
    else load_row(t->r, v->code.a, t->at[i], t->base[v->code.a], 0, n);
    for (int64_t r = 0; v->spread && r < t->r->rows; r++)
        memcpy(t->spread[i] + r * n, t->at[i], (size_t)n * sizeof(float));
}
static int64_t row_stride(const Rows *r, int view) {
    return r->outer.stride[(int64_t)view * STEP_RANK + r->outer.rank - 1];
}
static double *sums(const RowTile *t, int i) {
    return (double *)(void *)room(t, t->r->value[i].acc);
}
static void make_row(RowTile *t, int i) {
    const Value *v = &t->r->value[i];
    if (v->form == FORM_LOAD)
        t->r->view[v->code.a].load(t->at[i], t->base[v->code.a], row_stride(t->r, v->code.a),
                                   t->rows);
    else if (v->form == FORM_MEAN) {
        const double *sum = sums(t, v->number[0]), n = t->r->value[v->code.b].code.k;
        for (int64_t r = 0; r < t->rows; r++) t->at[i][r] = (float)(sum[r] / n);
    } else run_op(t, i, t->at[i], t->rows);
    spread_rows(t, i);
}

/* ---- tiles */
static bool lies_together(const RowTile *t, int view) {
    const RowView *v = &t->r->view[view];
    return v->view.dtype == DT_FLOAT && v->stride == 1 && v->whole &&
           (t->rows == 1 || row_stride(t->r, view) == t->columns);
}
static bool is_turned(const RowTile *t, int view) {
    const RowView *v = &t->r->view[view];
    return v->floats && v->stride != 1 && v->whole && row_stride(t->r, view) == 1 && t->rows > 1;
}
static char *block_at(const RowTile *t, int view) {
    const RowView *v = &t->r->view[view];
    return t->base[view] + t->from * v->stride * v->size;
}
/* Loads a tile whose rows lie side by side by transposing it. 16-bit floats are first converted to
   floats in the same order. */
static void load_turned(const RowTile *t, int view, float *to, const char *from) {
    const RowView *v = &t->r->view[view];
    const bool wide = v->view.dtype == DT_FLOAT;
    float *side = room(t, t->r->turned);
    for (int64_t c = 0; !wide && c < t->columns; c++)
        v->load(side + c * t->rows, from + c * v->stride * v->size, 1, t->rows);
    t->r->simd->transpose((uint32_t *)(void *)to, t->columns,
                          wide ? (const uint32_t *)(const void *)from : (uint32_t *)(void *)side,
                          wide ? v->stride : t->rows, t->columns, t->rows);
}
static void store_turned(const RowTile *t, const float *x, char *to) {
    const RowView *v = &t->r->view[0];
    const bool wide = v->view.dtype == DT_FLOAT;
    float *side = wide ? (float *)(void *)to : room(t, t->r->turned);
    t->r->simd->transpose((uint32_t *)(void *)side, wide ? v->stride : t->rows,
                          (const uint32_t *)(const void *)x, t->columns, t->rows, t->columns);
    for (int64_t c = 0; !wide && c < t->columns; c++)
        t->r->simd->store[CLASS_FLOAT][v->view.dtype](to + c * v->stride * v->size, 1,
                                                      side + c * t->rows, t->rows);
}
static float *load_block(const RowTile *t, int view, float *to) {
    const RowView *v = &t->r->view[view];
    char *from = block_at(t, view);
    const int64_t rows = row_stride(t->r, view);
    if (lies_together(t, view)) return (float *)(void *)from;
    if (is_turned(t, view)) load_turned(t, view, to, from);
    else
        for (int64_t r = 0; r < t->rows; r++)
            load_row(t->r, view, to + r * t->columns, t->base[view] + r * rows * v->size, t->from,
                     t->columns);
    return to;
}
static void store_block(const RowTile *t, const float *x) {
    const int64_t rows = row_stride(t->r, 0);
    char *y = block_at(t, 0);
    if ((const char *)x == y) return;
    if (is_turned(t, 0)) store_turned(t, x, y);
    else
        for (int64_t r = 0; r < t->rows; r++)
            store_row(t->r, t->base[0] + r * rows * t->r->view[0].size, x + r * t->columns, t->from,
                      t->columns);
}

/* Collects the numbers of each row. */
static void row_numbers(const RowTile *t, const Value *v, RowNumbers k[]) {
    for (int j = 0; j < NUMBERS; j++)
        row_numbers_set(k, j, v->number[j] >= 0 ? t->at[v->number[j]] : NULL, 1, v->negative[j],
                        t->rows);
}
/* Runs a line over some rows. */
static void run_lines(const RowTile *t, const Value *v, float *y, const float *x,
                      const RowNumbers k[], int64_t rows) {
    t->r->simd->row_scaled(y, x, k, v->scale < 0 ? NULL : t->at[v->scale],
                           v->shift < 0 ? NULL : t->at[v->shift], t->columns, rows);
}
/* Whether a product with 1 / d stands for a quotient by d. */
static bool has_reciprocal(float d) { return fabsf(d) > 1e-30f && fabsf(d) < 1e30f; }
/* Runs a line that divides by a number without a reciprocal over one row. */
static void run_quotient(const RowTile *t, const Value *v, float *y, const float *x,
                         const RowNumbers *k) {
    enum { PIECE = 64 };
    const Simd *s = t->r->simd;
    const int64_t n = t->columns;
    const RowNumbers before = {{k->k[0], 1, 1, -0.0f}}, after = {{0, 1, k->k[2], k->k[3]}};
    float divisor[PIECE];
    fill(divisor, k->k[1], PIECE);
    s->row_scaled(y, x, &before, NULL, NULL, n, 1);
    for (int64_t c = 0; c < n; c += PIECE)
        s->op[CLASS_FLOAT][C_DIV](y + c, y + c, divisor, n - c < PIECE ? n - c : PIECE);
    run_lines(t, v, y, y, &after, 1);
}
/* Runs a line that divides over the rows, as many at a time as have reciprocals. */
static void run_quotients(const RowTile *t, const Value *v, float *y, const float *x,
                          RowNumbers k[]) {
    const int64_t n = t->columns;
    for (int64_t r = 0, first; r < t->rows; r++) {
        for (first = r; r < t->rows && has_reciprocal(k[r].k[1]); r++) k[r].k[1] = 1 / k[r].k[1];
        if (first < r) run_lines(t, v, y + first * n, x + first * n, k + first, r - first);
        if (r < t->rows) run_quotient(t, v, y + r * n, x + r * n, &k[r]);
    }
}
/* Where x is a view, the next tile follows it. */
static void run_exps(const RowTile *t, const Value *v, float *y, const float *x,
                     const RowNumbers k[]) {
    const Value *of = &t->r->value[v->x];
    const int64_t n = t->columns, rows = t->rows;
    const bool in_view = of->form == FORM_LOAD && lies_together(t, of->code.a);
    double none[TILE_ROWS] = {0};
    t->r->simd->row_exps(y, v->sum < 0 ? none : sums(t, v->sum), x, k, n, rows, v->bounded,
                         in_view ? rows * n : 0);
}
static void run_rows(const RowTile *t, const Value *v, float *y, const float *x) {
    const Simd *s = t->r->simd;
    const int64_t n = t->columns, rows = t->rows;
    double *acc = (double *)(void *)room(t, v->acc);
    RowNumbers k[TILE_ROWS];
    if (v->form == FORM_SUM) return s->row_sums(acc, x, n, n, rows);
    if (v->form == FORM_MAX) return s->row_peaks((float *)(void *)acc, x, n, rows);
    row_numbers(t, v, k);
    switch (v->form) {
    case FORM_EXPS: run_exps(t, v, y, x, k); break;
    case FORM_SQUARES: s->row_squares(acc, x, k, n, rows); break;
    default:
        if (v->divides) run_quotients(t, v, y, x, k);
        else run_lines(t, v, y, x, k, rows);
    }
}
static bool summed_already(const Rows *r, int i) {
    const Value *v = &r->value[i];
    return v->form == FORM_SUM && r->value[v->x].form == FORM_EXPS && r->value[v->x].sum == i;
}
static void run_entry(RowTile *t, const Entry *e) {
    const int i = e->value;
    const Value *v = &t->r->value[i];
    float *to = i == t->r->ncode - 1 && lies_together(t, 0) ? (float *)(void *)block_at(t, 0)
                                                            : room(t, e->at);
    if (v->form == FORM_LOAD) {
        t->at[i] = load_block(t, v->code.a, room(t, e->at));
        return;
    }
    if (v->form == FORM_OP) run_op(t, i, to, t->rows * t->columns);
    else if (!summed_already(t->r, i)) {
        const float *x = t->r->value[v->x].kind == KIND_FULL ? t->at[v->x] : t->spread[v->x];
        run_rows(t, v, v->only_summed ? NULL : to, x);
    }
    if (v->kind == KIND_FULL) t->at[i] = to;
}

/* ---- reductions */
static void start_sum(const RowTile *t, int i) {
    double *acc = sums(t, i);
    const bool most = t->r->value[i].form == FORM_MAX;
    for (int64_t r = 0; r < t->rows; r++)
        if (most) ((float *)(void *)acc)[r] = -INFINITY;
        else acc[r] = 0;
}
static void end_sum(const RowTile *t, int i) {
    const double *acc = sums(t, i);
    const bool most = t->r->value[i].form == FORM_MAX;
    for (int64_t r = 0; r < t->rows; r++)
        t->at[i][r] = most ? ((const float *)(const void *)acc)[r] : (float)acc[r];
    spread_rows(t, i);
}

/* Sets the columns of the block. The last block of rows may have fewer than the others, and then
   numbers of rows are spread anew. */
static void set_columns(RowTile *t, int64_t columns) {
    t->columns = columns;
    if (t->rows == 1 || columns == t->spread_columns) return;
    t->spread_columns = columns;
    for (int i = 0; i < t->r->ncode; i++)
        if (t->r->value[i].needed && t->r->value[i].kind == KIND_ROW) spread_rows(t, i);
}
static void run_phase(RowTile *t, const Phase *p, bool last) {
    const Rows *r = t->r;
    const int root = r->ncode - 1;
    for (int j = 0; j < p->nrow; j++) make_row(t, p->row[j]);
    for (int j = 0; j < p->nsum; j++) start_sum(t, p->sum[j]);
    for (t->from = 0; t->from < r->columns; t->from += r->block) {
        const int64_t left = r->columns - t->from;
        set_columns(t, left < r->block ? left : r->block);
        for (int j = 0; j < p->nentry; j++) run_entry(t, &p->entry[j]);
        if (last) store_block(t, r->value[root].kind == KIND_FULL ? t->at[root] : t->spread[root]);
    }
    for (int j = 0; j < p->nsum; j++) end_sum(t, p->sum[j]);
}

void rows_run_part(const Rows *r, void *const slot[], void *work, int k) {
    const Nest *n = &r->outer;
    const int64_t length = n->dim[n->rank - 1], all = n->count / length * r->tiles,
                  end = all * (k + 1) / r->parts;
    char *base[ROWS_VIEWS];
    RowTile t = {.r = r, .work = (char *)work + (size_t)k * r->each};
    for (int i = 0; i < r->ncode; i++)
        t.at[i] = room(&t, r->value[i].at), t.spread[i] = room(&t, r->value[i].spread_at);
    for (int j = 0; j < r->nview; j++) t.base[j] = base[j] = view_at(&r->view[j].view, slot, work);
    for (int i = 0; i < r->ncode; i++) {
        if (r->value[i].needed && r->value[i].kind == KIND_NUMBER) make_number(&t, i);
        if (r->value[i].needed && r->value[i].kind == KIND_COLUMN) make_column(&t, i);
    }
    for (int64_t at = all * k / r->parts; at < end; at++) {
        int64_t index[STEP_RANK], offset[ROWS_VIEWS];
        const int64_t first = at % r->tiles * r->rows;
        nest_goto(n, 1, at / r->tiles, index, offset);
        for (int j = 0; j < r->nview; j++)
            t.base[j] = base[j] + (offset[j] + first * row_stride(r, j)) * r->view[j].size;
        t.rows = length - first < r->rows ? length - first : r->rows;
        t.spread_columns = r->block; /* a tile of one row is never spread anew */
        for (int p = 0; p < r->nphase; p++) run_phase(&t, &r->phase[p], p == r->nphase - 1);
    }
}
