/* vector_run.c -- runs a built element-wise program (vector.c), tile by tile. */
#include "ops/cpu/vector.h"
#include <string.h>

typedef struct VectorTile {
    bool first; /* this is the first tile along its axis; later ones have no more rows */
    int64_t rows, columns;
    int64_t held[MAX_CODE], filled[MAX_CODE]; /* of repeated sources: the offset from which their
                                                 register was loaded, and the number of elements in
                                                 it */
    void *source[MAX_CODE], *value[MAX_CODE];
} VectorTile;

/* Runs a line with the numbers that its values hold now. Absent operations get numbers that leave x
   unchanged. */
static void run_line(const VectorTile *t, const Instruction *c, void *to, const void *a,
                     int64_t n) {
    float k[] = {0, 1, 1, -0.0f, c->line->low, c->line->high};
    for (int j = 0; j < LINE; j++) {
        const int from = c->line->number[j];
        if (from >= 0) k[j] = *(const float *)t->value[from];
        if (c->line->negative[j] && k[j] == k[j]) k[j] = -k[j];
    }
    c->joined(to, a, k, n);
}
/* The same for a tile of several rows, each with its numbers, which may have been spread along the
   rows for other instructions. */
static void run_row_lines(const Vector *v, const VectorTile *t, const Instruction *c, void *to,
                          const void *a) {
    RowNumbers k[FLOATS / LINE_ROW];
    for (int j = 0; j < LINE; j++) {
        const int from = c->line->number[j];
        const float *of = from < 0 ? NULL : t->value[from];
        const int64_t step = of && v->source[v->code[from].a].number ? 1 : t->columns;
        row_numbers_set(k, j, of, step, c->line->negative[j], t->rows);
    }
    v->row_scaled(to, a, k, NULL, NULL, t->columns, t->rows);
}
static void run_instruction(const Vector *v, VectorTile *t, int i, void *to, int64_t n) {
    const Instruction *c = &v->code[i];
    const void *a = t->value[c->a], *b = t->value[c->b];
    t->value[i] = to;
    if (c->line && v->rows_axis) run_row_lines(v, t, c, to, a);
    else if (c->line) run_line(t, c, to, a, n);
    else if (c->joined) c->joined(to, a, c->k, n);
    else if (c->op) c->op(to, a, b, n);
    else v->where(to, a, b, t->value[c->c], n);
}
/* Computes a value that is a single number along the row, and copies it n times if varying
   instructions read it. */
static void run_number(const Vector *v, VectorTile *t, int i, char *to, int64_t n) {
    uint64_t number;
    run_instruction(v, t, i, to, 1);
    if (!v->code[i].spread) return;
    memcpy(&number, to, v->size);
    v->fill(to, &number, 0, n);
}
static void fill_integers(const Vector *v, void *to, int64_t k) {
    const int32_t word = (int32_t)k;
    const int16_t half = (int16_t)k;
    const int8_t byte = (int8_t)k;
    v->fill(to,
            v->size == sizeof k      ? (const void *)&k
            : v->size == sizeof word ? (const void *)&word
            : v->size == sizeof half ? (const void *)&half
                                     : (const void *)&byte,
            0, v->block);
}
static void load_once(const Vector *v, VectorTile *t, void *const slot[], void *work,
                      char *registers) {
    for (int i = 0; i < v->nsource; i++) {
        const Source *s = &v->source[i];
        t->source[i] = registers + s->at, t->held[i] = t->filled[i] = 0;
        if (!s->once) continue;
        if (!s->literal) s->load(t->source[i], view_at(&s->view, slot, work), 0, v->block);
        else if (v->class >= CLASS_INT) fill_integers(v, t->source[i], (int64_t)s->k);
        else s->load(t->source[i], &s->k, 0, v->block);
    }
    for (int i = 0; i < v->ncode; i++) {
        const Instruction *c = &v->code[i];
        if (c->source) t->value[i] = t->source[c->a];
        else if (c->invariance == INVARIANT && !c->absorbed)
            run_instruction(v, t, i, registers + c->at, v->block);
    }
}

static inline bool contiguous(int64_t rows, int64_t columns, const int64_t stride[2]) {
    return (columns == 1 || stride[1] == 1) && (rows == 1 || stride[0] == columns);
}

/* The strides of the tile's rows and columns in a view of the nest. */
static inline void tile_strides(const Vector *v, int view, int64_t stride[2]) {
    const int64_t *s = v->nest.stride + (int64_t)view * STEP_RANK + v->nest.rank - 1;
    stride[0] = v->rows_axis ? s[-1] : 0;
    stride[1] = s[0];
}

/* Loads a tile column by column. That is faster for many short rows (planes of an image that become
   channels last) and where the columns are contiguous. */
#define DEFINE_SPREAD(type)                                                                \
    static void spread_##type(type *to, const type *from, int64_t rows, int64_t columns) { \
        for (int64_t r = 0; r < rows; r++) to[r * columns] = from[r];                      \
    }
DEFINE_SPREAD(uint8_t)
DEFINE_SPREAD(uint16_t)
DEFINE_SPREAD(uint32_t)
DEFINE_SPREAD(uint64_t)
static void load_columns(const Vector *v, const VectorTile *t, const Source *s, char *to,
                         const char *from, const int64_t stride[2]) {
    uint64_t room[BLOCK / sizeof(uint64_t)]; /* enough for a tile of any class */
    const bool as_is = s->native && stride[0] == 1;
    if (as_is && stride[1] == 0 && v->repeat) {
        v->repeat(to, 0, 1, from, t->rows);
        return;
    }
    if (as_is && v->size == sizeof(uint32_t)) {
        v->transpose((uint32_t *)(void *)to, t->columns, (const uint32_t *)(const void *)from,
                     stride[1], t->columns, t->rows);
        return;
    }
    for (int64_t c = 0; c < t->columns; c++) {
        const char *column = from + c * stride[1] * s->size;
        const void *x = as_is ? (const void *)column : room;
        if (!as_is) s->load(room, column, stride[0], t->rows);
        if (v->size == sizeof(uint32_t))
            spread_uint32_t((uint32_t *)(void *)to + c, x, t->rows, t->columns);
        else if (v->size == sizeof(uint8_t))
            spread_uint8_t((uint8_t *)to + c, x, t->rows, t->columns);
        else if (v->size == sizeof(uint16_t))
            spread_uint16_t((uint16_t *)(void *)to + c, x, t->rows, t->columns);
        else spread_uint64_t((uint64_t *)(void *)to + c, x, t->rows, t->columns);
    }
}
/* Loads a tile all of whose rows are equal. */
static void load_repeated(const Vector *v, const VectorTile *t, const Source *s, char *to,
                          const char *from, int64_t stride) {
    const size_t row = (size_t)t->columns * v->size, all = row * (size_t)t->rows;
    if (stride == 0) {
        s->load(to, from, 0, t->rows * t->columns);
        return;
    }
    s->load(to, from, stride, t->columns);
    for (size_t done = row; done < all; done *= 2)
        memcpy(to + done, to, all - done < done ? all - done : done);
}
static void load_rows(const Vector *v, const VectorTile *t, const Source *s, char *to,
                      const char *from, const int64_t stride[2]) {
    const int64_t row = t->columns * (int64_t)v->size, apart = stride[0] * s->size;
    if (stride[0] == 0) load_repeated(v, t, s, to, from, stride[1]);
    else if (s->native && stride[1] == 1) v->move_rows(to, row, from, apart, t->rows, row);
    else
        for (int64_t r = 0; r < t->rows; r++)
            s->load(to + r * row, from + r * apart, stride[1], t->columns);
}
/* Whether the register of a repeated source still holds the elements of this tile. */
static bool holds(VectorTile *t, int i, int64_t offset) {
    const int64_t n = t->rows * t->columns;
    if (t->held[i] == offset && n <= t->filled[i]) return true;
    t->held[i] = offset, t->filled[i] = n;
    return false;
}
/* result: where the tile of y begins, if it is contiguous and has the type of the class, or NULL. A
   source that is the result is converted right there. */
static void load_tile(const Vector *v, VectorTile *t, char *const base[], const int64_t offset[],
                      char *result) {
    const Instruction *end = &v->code[v->ncode - 1];
    for (int i = 0; i < v->nsource; i++) {
        const Source *s = &v->source[i];
        if (s->once || (s->repeated && (!t->first || holds(t, i, offset[i + 1])))) continue;
        int64_t stride[2];
        tile_strides(v, i + 1, stride);
        char *from = base[i + 1] + offset[i + 1] * s->size, *to = base[v->nsource + 1] + s->at;
        if (s->number) {
            s->load(to, from, stride[0], v->rows_axis ? t->rows : 1);
            t->source[i] = to;
            continue;
        }
        if (!s->repeated && contiguous(t->rows, t->columns, stride)) {
            if (result && end->source && end->a == i) to = result;
            if (!s->native) s->load(to, from, 1, t->rows * t->columns);
            t->source[i] = s->native ? from : to;
            continue;
        }
        const bool crossed = stride[0] == 1 && stride[1] != 1 && stride[1] != 0;
        if (!s->repeated && t->rows > 1 &&
            (crossed || (t->columns < 8 && t->rows > 2 * t->columns)))
            load_columns(v, t, s, to, from, stride);
        else load_rows(v, t, s, to, from, stride);
        t->source[i] = to;
    }
}

static void store_tile(const Vector *v, const VectorTile *t, const void *from, char *to,
                       const int64_t stride[2]) {
    if (contiguous(t->rows, t->columns, stride)) {
        v->store(to, 1, from, t->rows * t->columns);
        return;
    }
    if (v->y.native && stride[1] == 1) {
        const int64_t row = t->columns * v->y.size;
        v->move_rows(to, stride[0] * v->y.size, from, row, t->rows, row);
        return;
    }
    for (int64_t r = 0; r < t->rows; r++)
        v->store(to + r * stride[0] * v->y.size, stride[1],
                 (const char *)from + (size_t)(r * t->columns) * v->size, t->columns);
}

static void run_tile(const Vector *v, VectorTile *t, char *const base[], const int64_t offset[]) {
    int64_t stride[2];
    tile_strides(v, 0, stride);
    char *to = base[0] + offset[0] * v->y.size;
    const bool direct = v->y.native && contiguous(t->rows, t->columns, stride);
    const int end = v->ncode - 1;
    load_tile(v, t, base, offset, direct ? to : NULL);
    for (int i = 0; i <= end; i++) {
        const Instruction *c = &v->code[i];
        if (c->source) t->value[i] = t->source[c->a];
        if (c->source || c->absorbed || c->invariance == INVARIANT) continue;
        char *const value = i == end && direct ? to : base[v->nsource + 1] + c->at;
        const int64_t n = t->rows * t->columns;
        if (c->invariance == VARIES) run_instruction(v, t, i, value, n);
        else if (t->first && v->rows_axis) run_instruction(v, t, i, value, n);
        else if (t->first) run_number(v, t, i, value, n);
    }
    if (t->value[end] != to) store_tile(v, t, t->value[end], to, stride);
}

/* Runs tiles number `first` to `last` - 1 along their axis, which is the last one, or the last but
   one if a tile consists of whole rows. */
static void run_inner(const Vector *v, VectorTile *t, char *const base[], const int64_t start[],
                      int64_t first, int64_t last) {
    const Nest *n = &v->nest;
    const int axis = n->rank - 1 - v->rows_axis;
    const int64_t length = n->dim[axis], step = v->rows_axis ? v->tile_rows : v->tile_columns;
    int64_t offset[MAX_CODE + 1];
    for (int64_t at = first * step; at < length && at < last * step; at += step) {
        const int64_t part = length - at < step ? length - at : step;
        t->rows = v->rows_axis ? part : 1;
        t->columns = v->rows_axis ? v->tile_columns : part;
        for (int i = 0; i < n->n; i++) offset[i] = start[i] + at * n->stride[i * STEP_RANK + axis];
        t->first = at == first * step;
        run_tile(v, t, base, offset);
    }
}

void vector_run_part(const Vector *v, void *const slot[], void *work, int k, int n) {
    if (v->nest.count == 0) return;
    VectorTile t;
    char *base[MAX_CODE + 2], *registers = (char *)work + (size_t)k * v->registers;
    int64_t index[STEP_RANK] = {0}, offset[MAX_CODE + 1] = {0}, at = 0, end = v->outer * v->tiles;
    base[0] = view_at(&v->y.view, slot, work);
    for (int i = 0; i < v->nsource; i++)
        base[i + 1] = v->source[i].literal ? NULL : view_at(&v->source[i].view, slot, work);
    base[v->nsource + 1] = registers;
    load_once(v, &t, slot, work, registers);
    if (n > 1) {
        at = end * k / n, end = end * (k + 1) / n;
        nest_goto(&v->nest, 1 + v->rows_axis, at / v->tiles, index, offset);
    }
    while (at < end) {
        const int64_t first = n > 1 ? at % v->tiles : 0, left = end - at,
                      last = left < v->tiles - first ? first + left : v->tiles;
        run_inner(v, &t, base, offset, first, last);
        at += last - first;
        nest_next(&v->nest, 1 + v->rows_axis, index, offset);
    }
}

void vector_run(const Vector *v, void *const slot[], void *work) {
    vector_run_part(v, slot, work, 0, 1);
}
