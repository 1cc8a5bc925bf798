/* topk.c -- the first k elements of each line in the order of topk (ops/topk.c).

   Elements are converted to integer keys, which are greater the earlier an element comes.
   Candidates for the first k are found by a lower bound: keys are divided into disjoint groups, and
   the k-th greatest maximum of a group is at most the k-th greatest key. It is found by bisection.
   If there are many more elements than groups, few keys reach it. Only these are sorted: few of
   them by counting how many come before each, many by their digits.

   If few elements are wanted of lines that are short or lie side by side, many lines are computed
   together (lanes.c), each with a sorted list of the first elements so far. Lines, or groups of
   them, are distributed over the threads. */
#include "ops/base/least.h"
#include "ops/backend/isomer_op_steps.h"
#include "ops/cpu/cpu.h"
#include <string.h>

/* RANKED: keys that are sorted by counting, at most. GROUP: the number of groups is a multiple of
   it. SMALL_LINE: lines of up to this length are sorted as a whole. FEW: elements that are taken of
   lines that are computed together, at most; LINES of these at a time, TILE keys of them. SHORT:
   lines of up to this length are transposed. */
enum { RANKED = 128, GROUP = 16, SMALL_LINE = 24, FEW = 8, LINES = 128, TILE = 4096, SHORT = 256 };
typedef struct TopK {
    View x, y, where;
    Nest line;                           /* over y, where and x without the axis */
    Lanes lanes;                         /* how many lines are computed together */
    int axis, parts, size, x_size, wide; /* size: bytes of a key; x_size: of an element; wide: keys
                                            are int64 */
    ComputeClass class, key_class;
    const Simd *simd;
    int64_t n, k, groups; /* n: elements of a line; k: the wanted ones */
    int64_t most, tasks;  /* lines of a task, at most; all tasks */
    size_t keys, maxima, places, sorted, order, spare, tile, each; /* scratch memory: offsets for
                                                                      part 0; the bytes of a part */
    bool largest;
} TopK;
typedef struct Line { /* the memory of one part */
    char *keys, *maxima;
    int32_t *places;
    uint64_t *sorted;
    int64_t *order, *spare;
} Line;

static int64_t key_at(const TopK *t, const char *keys, int64_t at) {
    return t->wide ? ((const int64_t *)(const void *)keys)[at]
                   : ((const int32_t *)(const void *)keys)[at];
}
static int64_t extreme(const TopK *t, const char *keys, int64_t n, ReduceKind kind) {
    int64_t best = key_at(t, keys, 0);
    int32_t narrow = (int32_t)best;
    t->simd->total[t->key_class][kind](t->wide ? (void *)&best : &narrow, keys, n);
    return t->wide ? best : narrow;
}
/* Returns a number that at least k of n keys reach and at most k + slack, unless more of them are
   equal. */
static int64_t bound(const TopK *t, const char *keys, int64_t n, int64_t slack) {
    int64_t low = extreme(t, keys, n, REDUCE_MIN), high = extreme(t, keys, n, REDUCE_MAX);
    while (low < high) {
        const uint64_t apart = (uint64_t)high - (uint64_t)low; /* apart + 1 may overflow */
        const int64_t middle = (int64_t)((uint64_t)low + apart / 2 + apart % 2),
                      count = t->simd->count_from[t->wide](keys, middle, n);
        if (count < t->k) high = middle - 1;
        else if (low = middle, count <= t->k + slack) break;
    }
    return low;
}
/* Lists, in ascending order, the places of keys that include the first k in order; returns how
   many. */
static int64_t find_places(const TopK *t, const Line *l) {
    const int64_t slack = t->k / 4 + 4;
    if (t->k == t->n || t->n <= SMALL_LINE) {
        for (int64_t j = 0; j < t->n; j++) l->places[j] = (int32_t)j;
        return t->n;
    }
    if (t->groups == t->n)
        return t->simd->places_from[t->wide](l->places, l->keys, bound(t, l->keys, t->n, slack),
                                             t->n);
    memcpy(l->maxima, l->keys, (size_t)(t->groups * t->size));
    for (int64_t at = t->groups; at < t->n; at += t->groups)
        t->simd->merge[t->key_class][REDUCE_MAX](l->maxima, l->keys + at * t->size, 1,
                                                 t->n - at < t->groups ? t->n - at : t->groups);
    return t->simd->places_from[t->wide](l->places, l->keys, bound(t, l->maxima, t->groups, slack),
                                         t->n);
}
/* Moves the keys of the m places to the front. */
static void gather_keys(const TopK *t, const Line *l, int64_t m) {
    int64_t *wide = (int64_t *)(void *)l->keys;
    int32_t *narrow = (int32_t *)(void *)l->keys;
    for (int64_t j = 0; j < m; j++)
        if (t->wide) wide[j] = wide[l->places[j]];
        else narrow[j] = narrow[l->places[j]];
}
/* Keeps only the first k of m places. */
static void cut_places(const TopK *t, const Line *l, int64_t m) {
    const int64_t low = bound(t, l->keys, m, 0);
    int64_t equal = t->k, kept = 0;
    for (int64_t j = 0; j < m; j++) equal -= key_at(t, l->keys, j) > low;
    for (int64_t j = 0; j < m && kept < t->k; j++) {
        const int64_t key = key_at(t, l->keys, j);
        if (key < low || (key == low && equal-- <= 0)) continue;
        l->places[kept] = l->places[j];
        memmove(l->keys + kept++ * t->size, l->keys + j * t->size, (size_t)t->size);
    }
}
/* Puts the first k elements of the line into order. */
static void sort_line(const TopK *t, const Line *l) {
    if (t->k == 1) {
        const int64_t best = extreme(t, l->keys, t->n, REDUCE_MAX);
        const int32_t narrow = (int32_t)best;
        l->order[0] = t->simd->place[t->key_class](l->keys, t->wide ? (const void *)&best : &narrow,
                                                   t->n, false);
        return;
    }
    const int64_t m = find_places(t, l);
    if (m < t->n) gather_keys(t, l, m);
    if (m <= RANKED) {
        int32_t rank[RANKED];
        t->simd->rank[t->wide](rank, l->keys, m);
        for (int64_t j = 0; j < m; j++)
            if (rank[j] < t->k) l->spare[rank[j]] = l->places[j];
        memcpy(l->order, l->spare, (size_t)t->k * sizeof *l->order);
        return;
    }
    if (m > t->k) cut_places(t, l, m);
    int64_t *order = l->order, *spare = l->spare;
    for (int64_t j = 0; j < t->k; j++)
        l->sorted[j] =
            (uint64_t)(t->wide ? INT64_MAX : INT32_MAX) - (uint64_t)key_at(t, l->keys, j),
        order[j] = j;
    radix_sort(l->sorted, t->k, &order, &spare);
    for (int64_t j = 0; j < t->k; j++) spare[j] = l->places[order[j]];
    if (spare != l->order) memcpy(l->order, spare, (size_t)t->k * sizeof *spare);
}

typedef struct TopRun {
    const TopK *t;
    void *const *slot;
    char *work;
} TopRun;
static void find_keys(const TopK *t, char *keys, const char *x, int64_t stride, int64_t n) {
    if (stride == 1 && t->x.dtype == class_dtype(t->class)) {
        t->simd->order[t->class](keys, x, t->largest, n);
        return;
    }
    t->simd->load[t->class][t->x.dtype](keys, x, stride, n);
    t->simd->order[t->class](keys, keys, t->largest, n);
}
static void run_line(const TopRun *run, char *work, const char *x, char *y, int64_t *where) {
    const TopK *t = run->t;
    const Line l = {.keys = work + t->keys,
                    .maxima = work + t->maxima,
                    .places = (int32_t *)(void *)(work + t->places),
                    .sorted = (uint64_t *)(void *)(work + t->sorted),
                    .order = (int64_t *)(void *)(work + t->order),
                    .spare = (int64_t *)(void *)(work + t->spare)};
    const int64_t along = t->x.stride[t->axis], to = t->where.stride[t->axis];
    find_keys(t, l.keys, x, along, t->n);
    sort_line(t, &l);
    for (int64_t j = 0; j < t->k; j++) where[j * to] = l.order[j], l.order[j] *= along;
    move_elements(t->x_size, y, t->y.stride[t->axis], x, 0, l.order, 1, t->k);
}

/* ---- many lines together. `maxima` has the keys of their first elements, `places` the places of
   these. Element s of line i is LINES * s + i; so many lists follow each other as there are lines
   of different rows. */
static void add_rows(const TopK *t, char *work, int64_t list, const char *keys, int64_t stride,
                     int64_t at, int64_t rows, int64_t count) {
    const int64_t from = list * t->k * LINES * t->size;
    t->simd->first_of_rows[t->wide](&(FirstRows){.first = work + t->maxima + from,
                                                 .where = work + t->places + from,
                                                 .key = keys,
                                                 .fs = LINES,
                                                 .ks = stride,
                                                 .at = at,
                                                 .rows = rows,
                                                 .n = count,
                                                 .k = t->k});
}
/* Lines that lie side by side in x already. Rows that follow each other without gaps become keys
   together. */
static void find_beside(const TopK *t, char *work, const char *x, int64_t count) {
    const int64_t along = t->x.stride[t->axis], rows = TILE / count;
    char *keys = work + t->keys;
    for (int64_t at = 0, taken; at < t->n; at += taken) {
        taken = int64_least(t->n - at, rows);
        const char *from = x + at * along * t->x_size;
        if (along == count) find_keys(t, keys, from, 1, taken * count);
        else
            for (int64_t j = 0; j < taken; j++)
                find_keys(t, keys + j * count * t->size, from + j * along * t->x_size, 1, count);
        add_rows(t, work, 0, keys, count, at, taken, count);
    }
}
/* Lines that are `step` apart, with the `inner` lines beside each. */
static void find_turned(const TopK *t, char *work, const char *x, int64_t step, int64_t count) {
    const int64_t inner = t->lanes.inner;
    char *keys = work + t->keys, *tile = work + t->tile;
    for (int64_t at = 0, taken; at < t->n; at += taken) {
        taken = int64_least(t->n - at, t->lanes.rows);
        const int64_t columns = taken * inner;
        const char *from = x + at * inner * t->x_size;
        if (step == columns) find_keys(t, keys, from, 1, count * columns);
        else
            for (int64_t r = 0; r < count; r++)
                find_keys(t, keys + r * columns * t->size, from + r * step * t->x_size, 1, columns);
        lanes_turn(t->simd, t->size, tile, keys, columns, count, columns);
        for (int64_t i = 0; i < inner; i++)
            add_rows(t, work, i, tile + i * LANES_TURNED_MOST * t->size, LANES_TURNED_MOST * inner,
                     at, taken, count);
    }
}
/* Writes the results of `count` lines; step: the distances of these in y, where and x. */
static void put_list(const TopK *t, char *work, int64_t list, char *y, int64_t *where,
                     const char *x, const int64_t step[3], int64_t count) {
    int64_t offset[LINES];
    const int64_t along = t->x.stride[t->axis];
    for (int64_t s = 0; s < t->k; s++) {
        const char *places = work + t->places + (list * t->k + s) * LINES * t->size;
        int64_t *to = where + s * t->where.stride[t->axis];
        for (int64_t i = 0; i < count; i++) {
            const int64_t place = key_at(t, places, i);
            to[i * step[1]] = place, offset[i] = place * along;
        }
        move_elements(t->x_size, y + s * t->y.stride[t->axis] * t->x_size, step[0], x, step[2],
                      offset, 1, count);
    }
}
static void run_together(const TopRun *run, char *work, const char *x, char *y, int64_t *where,
                         const int64_t step[3], int64_t count) {
    const TopK *t = run->t;
    if (t->lanes.kind == LANES_BESIDE) find_beside(t, work, x, count);
    else find_turned(t, work, x, step[2], count);
    for (int64_t i = 0; i < t->lanes.inner; i++)
        put_list(t, work, i, y + i * t->lanes.step[0] * t->x_size, where + i * t->lanes.step[1],
                 x + i * t->lanes.step[2] * t->x_size, step, count);
}
static void run_topk_part(void *job, int k) {
    const TopRun *run = job;
    const TopK *t = run->t;
    const int last = t->line.rank - 1;
    const int64_t end = t->tasks * (k + 1) / t->parts, width = t->line.dim[last],
                  blocks = (width + t->most - 1) / t->most,
                  step[3] = {t->line.stride[last], t->line.stride[STEP_RANK + last],
                             t->line.stride[2 * STEP_RANK + last]};
    char *work = run->work + (size_t)k * t->each;
    int64_t index[STEP_RANK], offset[3];
    for (int64_t at = t->tasks * k / t->parts; at < end; at++) {
        const int64_t from = at % blocks * t->most, count = int64_least(width - from, t->most);
        nest_goto(&t->line, 1, at / blocks, index, offset);
        for (int v = 0; v < 3; v++) offset[v] += from * step[v];
        char *y = (char *)view_at(&t->y, run->slot, run->work) + offset[0] * t->x_size;
        int64_t *where = (int64_t *)view_at(&t->where, run->slot, run->work) + offset[1];
        const char *x = (char *)view_at(&t->x, run->slot, run->work) + offset[2] * t->x_size;
        if (t->lanes.kind == LANES_APART) run_line(run, work, x, y, where);
        else run_together(run, work, x, y, where, step, count);
    }
}
static int topk_run(const Kernel *k, void *const slot[], void *work) {
    TopRun run = {k->self, slot, work};
    team_run(k->device->team, run.t->parts, run_topk_part, &run);
    return 0;
}

/* The number of groups: at least k, and at most about a third of the line. n: each key is its own
   group. */
static int64_t count_groups(int64_t n, int64_t k) {
    int64_t groups = n / 3 < 4 * k ? n / 3 : 4 * k;
    if (groups < 2 * GROUP && n > 8 * GROUP) groups = 2 * GROUP;
    groups = (groups + GROUP - 1) / GROUP * GROUP;
    return groups < k || groups > n / 2 ? n : groups;
}
static void choose_lanes(TopK *t) {
    const int64_t along = t->x.stride[t->axis];
    t->lanes.inner = 1;
    if (t->k <= FEW && (along != 1 || t->n <= SHORT)) t->lanes = lanes_of(&t->line, 2, t->n, along);
    const int64_t width = t->line.dim[t->line.rank - 1];
    t->most = t->lanes.kind == LANES_APART    ? 1
              : t->lanes.kind == LANES_BESIDE ? LINES
                                              : LANES_TURNED_MOST;
    t->tasks = t->line.count / (width * t->lanes.inner) * ((width + t->most - 1) / t->most);
}
/* Scratch memory. What many lines need is rounded up to whole vectors. */
static void reserve(Build *b, TopK *t) {
    const bool apart = t->lanes.kind == LANES_APART;
    const int64_t lists = t->lanes.inner * t->k * LINES, keys = apart ? t->n : TILE + LINES;
    t->keys = build_bytes(b, (size_t)(keys * t->size));
    t->maxima = build_bytes(b, (size_t)((apart ? t->groups : lists) * t->size));
    t->places = build_bytes(b, (size_t)(apart ? t->n * (int)sizeof(int32_t) : lists * t->size));
    if (apart) {
        t->sorted = build_bytes(b, (size_t)t->k * sizeof(uint64_t));
        t->order = build_bytes(b, (size_t)t->k * sizeof(int64_t));
        t->spare = build_bytes(b, (size_t)t->k * sizeof(int64_t));
    } else t->tile = build_bytes(b, (size_t)((TILE + LINES) * t->size));
    t->each = b->workspace - t->keys;
}
bool topk_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const View *v = b->step->view;
    TopK *t = ARENA_NEW(b->arena, TopK, 1);
    *t = (TopK){.y = v[0],
                .where = v[1],
                .x = v[2],
                .axis = (int)b->step->param[OP_AXIS],
                .simd = b->device->simd,
                .largest = b->step->param[TOPK_LARGEST] != 0};
    t->n = t->x.dim[t->axis], t->k = t->y.dim[t->axis];
    if (!dtype_numeric(t->x.dtype) || t->x.format || t->y.dtype != t->x.dtype || t->y.format ||
        view_count(&t->y) == 0 || t->n > INT32_MAX)
        return false;
    View line[] = {t->y, t->where, t->x};
    for (int j = 0; j < 3; j++) line[j].dim[t->axis] = 1;
    t->line = nest_new(b->arena, (const View *const[]){&line[0], &line[1], &line[2]}, 3);
    nest_with_axis(&t->line);
    choose_lanes(t);
    t->class = view_class(&t->x, 1);
    t->x_size = dtype_size(t->x.dtype), t->size = dtype_size(class_dtype(t->class));
    t->wide = t->size == 8, t->key_class = t->wide ? CLASS_INT : CLASS_INT32;
    t->groups = count_groups(t->n, t->k);
    reserve(b, t);
    t->parts = count_parts(b, t->tasks, t->n * t->line.count, 1);
    build_bytes(b, (size_t)(t->parts - 1) * t->each);
    k->run = topk_run, k->self = t;
    return true;
}
