/* trees.c -- trees (defined in ops/trees.c) whose lists are known when the kernel is built. Nodes
   are converted to a compact form and checked, so that each walk from a root ends at a leaf and
   reads only valid memory. Some rows are processed at a time: all of them go through one tree after
   the other, whose nodes then stay in the cache, and TOGETHER walks run in step. */
#include "ops/cpu/cpu.h"
#include "ops/operator/op_kernel.h"
#include <string.h>

enum { Y, X, ROOTS, NODES, VALUES, LEAVES, WEIGHTS, BASE, VIEWS_OF_TREES };
enum { ROWS = 64, TOGETHER = 8 };
enum { NO, YES };
typedef struct Branch { /* a node. Of a leaf, end[YES]..end[NO]-1 are its weights. */
    float value;
    int32_t feature, end[2]; /* feature: an offset into a row; end: the next nodes */
    uint8_t mode, missing;
} Branch;
typedef struct Trees {
    View y, x, base; /* base: rank -1 if there is none */
    int64_t roots;
    const int32_t *root, *output;
    const Branch *node;
    const float *weight;
    bool average;
    int mode;    /* the mode of all nodes except leaves; TREE_LEAF: they differ */
    size_t sums; /* an offset into the scratch memory: [ROWS, outputs] */
} Trees;

/* Several walks, each from a root with a row, and the leaves where they end. They advance in turn
   because each waits for memory at every node. mode: as Trees.mode. */
typedef struct Walks {
    int32_t root[TOGETHER];
    const float *row[TOGETHER];
    const Branch *leaf[TOGETHER];
} Walks;
static inline __attribute__((always_inline)) void walk(const Trees *t, int mode, Walks *w) {
    const Branch *const node = t->node, *at[TOGETHER];
    bool walking = true;
    for (int i = 0; i < TOGETHER; i++) at[i] = &node[w->root[i]];
    while (walking) {
        walking = false;
        _Pragma("GCC unroll 8") for (int i = 0; i < TOGETHER; i++) {
            const Branch *b = at[i];
            if (b->mode == TREE_LEAF) continue;
            const float x = w->row[i][b->feature];
            const int yes =
                tree_holds(mode == TREE_LEAF ? b->mode : mode, (double)x, (double)b->value) |
                ((x != x) & b->missing);
            at[i] = &node[b->end[yes]]; /* without a branch, since half of them would be
                                           mispredicted */
            walking = true;
        }
    }
    memcpy(w->leaf, at, sizeof at);
}
static void walk_all(const Trees *t, Walks *w) {
    if (t->mode == TREE_LEQ) walk(t, TREE_LEQ, w);
    else if (t->mode == TREE_LT) walk(t, TREE_LT, w);
    else walk(t, TREE_LEAF, w);
}
static void add_leaf(const Trees *t, const Branch *leaf, double *sums) {
    for (int32_t w = leaf->end[YES]; w < leaf->end[NO]; w++)
        sums[t->output[w]] += (double)t->weight[w];
}
/* Runs rows through one tree, TOGETHER at a time. */
static void add_tree(const Trees *t, int32_t root, const float *x, int64_t rows, double *sums) {
    const int64_t outputs = t->y.dim[1];
    for (int64_t first = 0; first < rows; first += TOGETHER) {
        Walks w;
        for (int64_t i = 0; i < TOGETHER; i++)
            w.root[i] = root, w.row[i] = x + (first + i) * t->x.stride[0];
        walk_all(t, &w);
        for (int64_t i = 0; i < TOGETHER; i++) add_leaf(t, w.leaf[i], sums + (first + i) * outputs);
    }
}
/* Runs one row through all trees. The last walks may repeat the last tree. */
static void add_row(const Trees *t, const float *x, double *sums) {
    for (int64_t first = 0; first < t->roots; first += TOGETHER) {
        Walks w;
        const int64_t left = t->roots - first, n = left < TOGETHER ? left : TOGETHER;
        for (int64_t i = 0; i < TOGETHER; i++)
            w.root[i] = t->root[first + (i < n ? i : n - 1)], w.row[i] = x;
        walk_all(t, &w);
        for (int64_t i = 0; i < n; i++) add_leaf(t, w.leaf[i], sums);
    }
}
static void put_row(const Trees *t, const double *sum, const float *base, float *y) {
    for (int64_t k = 0; k < t->y.dim[1]; k++) {
        const double all = t->average && t->roots ? sum[k] / (double)t->roots : sum[k];
        y[k * t->y.stride[1]] = (float)(all + (base ? (double)base[k * t->base.stride[0]] : 0));
    }
}
static int trees_run(const Kernel *k, void *const slot[], void *work) {
    const Trees *t = k->self;
    const int64_t outputs = t->y.dim[1];
    double *const sums = (double *)(void *)((char *)work + t->sums);
    const float *const x = view_at(&t->x, slot, work), *const base =
                                                           t->base.rank < 0
                                                               ? NULL
                                                               : view_at(&t->base, slot, work);
    float *const y = view_at(&t->y, slot, work);
    for (int64_t first = 0; first < t->x.dim[0]; first += ROWS) {
        const int64_t left = t->x.dim[0] - first, rows = left < ROWS ? left : ROWS;
        memset(sums, 0, sizeof *sums * (size_t)(rows * outputs));
        const float *from = x + first * t->x.stride[0];
        const int64_t whole = rows / TOGETHER * TOGETHER;
        for (int64_t r = 0; r < t->roots; r++) add_tree(t, t->root[r], from, whole, sums);
        for (int64_t i = whole; i < rows; i++)
            add_row(t, from + i * t->x.stride[0], sums + i * outputs);
        for (int64_t i = 0; i < rows; i++)
            put_row(t, sums + i * outputs, base, y + (first + i) * t->y.stride[0]);
    }
    return 0;
}

/* The contents of a list that is known when the kernel is built; NULL: it is not known, or has
   gaps. */
static const void *list_of(const Build *b, int view) {
    const View *v = &b->step->view[view];
    if (!b->weights || !b->weights[view] || !view_is_dense(v)) return NULL;
    return (const char *)b->weights[view] + v->offset * dtype_size(v->dtype);
}
static bool within(int64_t x, int64_t end) { return x >= 0 && x < end; }
/* Converts one node. False: it would read invalid memory. `parents` counts the parents of each
   node. */
static bool make_node(const Build *b, const int64_t *field, float value, Branch *out,
                      uint8_t *parents) {
    const View *v = b->step->view;
    const int64_t nodes = v[NODES].dim[0], weights = v[WEIGHTS].dim[0];
    *out = (Branch) {
        value, (int32_t)(field[TREE_FEATURE] * v[X].stride[1]),
            {[NO] = (int32_t)field[TREE_NO], [YES] = (int32_t)field[TREE_YES]},
            (uint8_t)field[TREE_MODE], field[TREE_MISSING] != 0
    };
    if (!within(field[TREE_MODE], TREE_NEQ + 1)) return false;
    if (field[TREE_MODE] == TREE_LEAF)
        return field[TREE_YES] >= 0 && field[TREE_YES] <= field[TREE_NO] &&
               field[TREE_NO] <= weights;
    return within(field[TREE_FEATURE], v[X].dim[1]) && within(field[TREE_YES], nodes) &&
           within(field[TREE_NO], nodes) && !parents[field[TREE_YES]]++ &&
           !parents[field[TREE_NO]]++;
}
/* Converts all nodes. False: a node has several parents, or a root has one. Without these, no walk
   can go in circles. */
static bool make_nodes(const Build *b, Branch *node, int32_t *root) {
    const View *v = b->step->view;
    const int64_t n = v[NODES].dim[0], *field = list_of(b, NODES), *roots = list_of(b, ROOTS);
    const float *value = list_of(b, VALUES);
    uint8_t *parents = ARENA_NEW(b->scratch, uint8_t, n + 1);
    memset(parents, 0, (size_t)n + 1);
    for (int64_t k = 0; k < n; k++)
        if (!make_node(b, field + k * TREE_FIELDS, value[k], &node[k], parents)) return false;
    for (int64_t k = 0; k < v[ROOTS].dim[0]; k++) {
        if (!within(roots[k], n) || parents[roots[k]]) return false;
        root[k] = (int32_t)roots[k];
    }
    return true;
}
static int common_mode(const Branch *node, int64_t n) {
    int mode = TREE_LEAF;
    for (int64_t k = 0; k < n; k++) {
        if (node[k].mode == TREE_LEAF || node[k].mode == mode) continue;
        if (mode != TREE_LEAF) return TREE_LEAF;
        mode = node[k].mode;
    }
    return mode;
}
static bool make_leaves(const Build *b, int32_t *output, float *weight) {
    const int64_t n = b->step->view[WEIGHTS].dim[0], *of = list_of(b, LEAVES);
    for (int64_t k = 0; k < n; k++) {
        if (!within(of[k], b->step->view[Y].dim[1])) return false;
        output[k] = (int32_t)of[k];
    }
    memcpy(weight, list_of(b, WEIGHTS), sizeof *weight * (size_t)n);
    return true;
}

/* Builds the kernel. Parameter of the step: 1 for the mean over the trees. */
bool trees_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const View *v = b->step->view;
    for (int j = ROOTS; j <= WEIGHTS; j++)
        if (!list_of(b, j) || v[j].dim[0] >= INT32_MAX / TREE_FIELDS) return false;
    if (v[X].dim[1] > 0 && v[X].stride[1] > INT32_MAX / v[X].dim[1]) return false;
    const bool based = b->step->nview > BASE && v[BASE].rank >= 0;
    if (v[X].dtype != DT_FLOAT || (based && v[BASE].dtype != DT_FLOAT)) return false;
    const int64_t n = v[NODES].dim[0], roots = v[ROOTS].dim[0], weights = v[WEIGHTS].dim[0];
    Branch *node = ARENA_NEW(b->arena, Branch, n + 1);
    int32_t *root = ARENA_NEW(b->arena, int32_t, roots + 1),
            *output = ARENA_NEW(b->arena, int32_t, weights + 1);
    float *weight = ARENA_NEW(b->arena, float, weights + 1);
    if (!make_nodes(b, node, root) || !make_leaves(b, output, weight)) return false;
    Trees *t = ARENA_NEW(b->arena, Trees, 1);
    *t = (Trees) {
        .y = v[Y], .x = v[X], .base = based ? v[BASE] : (View){.rank = -1}, .roots = roots,
        .root = root, .output = output, .node = node, .weight = weight,
        .average = b->step->param[TREES_AVERAGE] != 0, .mode = common_mode(node, n)
    };
    t->sums = build_bytes(b, sizeof(double) * ROWS * (size_t)v[Y].dim[1]);
    for (int j = ROOTS; j <= WEIGHTS; j++) k->packed |= (uint64_t)1 << j;
    k->run = trees_run, k->self = t;
    return true;
}
