/* trees.c -- converts the lists in which ai.onnx.ml describes an ensemble of trees to the constants
   that the operator `trees` reads (ops/trees.c). There, the children of a node are positions in the
   list of nodes, and a leaf has a range of weights. */
#include "graphs/onnx/import/import.h"
#include <stdlib.h>
#include <string.h>

/* Identifies a node as the file does; `at` is its position in the list of nodes. */
typedef struct Key {
    int64_t tree, id, at;
} Key;
typedef struct Lists { /* tree to missing: by node; leaf_tree to weight: by weight */
    OnnxAttr tree, id, feature, mode, value, yes, no, missing, leaf_tree, leaf_id, output, weight;
} Lists;

static int by_name(const void *a, const void *b) {
    const Key *x = a, *y = b;
    if (x->tree != y->tree) return x->tree < y->tree ? -1 : 1;
    return x->id == y->id ? 0 : x->id < y->id ? -1 : 1;
}
/* Reads a list of this kind with n entries (0: any number). */
static bool read_list(Import *s, const char *name, OnnxAttrKind kind, int n, OnnxAttr *out) {
    return (onnx_attr(s, name, out) && out->kind == kind && out->n > 0 && (!n || out->n == n)) ||
           import_fail(s, "%s is missing or has the wrong length", name);
}
static bool read_leaves(Import *s, const char *of, Lists *t) {
    const char *const end[] = {"treeids", "nodeids", "ids", "weights"};
    OnnxAttr *const out[] = {&t->leaf_tree, &t->leaf_id, &t->output, &t->weight};
    for (int k = 0; k < 4; k++)
        if (!read_list(s, arena_format(s->w->arena, "%s_%s", of, end[k]),
                       k == 3 ? ONNX_ATTR_FLOATS : ONNX_ATTR_INTS, k ? out[0]->n : 0, out[k]))
            return false;
    return true;
}
static bool read_lists(Import *s, const char *of, Lists *t) {
    if (!read_list(s, "nodes_treeids", ONNX_ATTR_INTS, 0, &t->tree)) return false;
    const int n = t->tree.n;
    OnnxAttr unused;
    onnx_attr(s, "nodes_hitrates", &unused);
    if (onnx_attr(s, "nodes_missing_value_tracks_true", &t->missing) && t->missing.n &&
        !read_list(s, "nodes_missing_value_tracks_true", ONNX_ATTR_INTS, n, &t->missing))
        return false;
    return read_list(s, "nodes_nodeids", ONNX_ATTR_INTS, n, &t->id) &&
           read_list(s, "nodes_featureids", ONNX_ATTR_INTS, n, &t->feature) &&
           read_list(s, "nodes_modes", ONNX_ATTR_TEXTS, n, &t->mode) &&
           read_list(s, "nodes_values", ONNX_ATTR_FLOATS, n, &t->value) &&
           read_list(s, "nodes_truenodeids", ONNX_ATTR_INTS, n, &t->yes) &&
           read_list(s, "nodes_falsenodeids", ONNX_ATTR_INTS, n, &t->no) && read_leaves(s, of, t);
}

/* The mode of a node, TREE_LEAF and so on. */
static int mode_of(const char *text) {
    static const char *const modes[] = {"LEAF",      "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                        "BRANCH_GT", "BRANCH_EQ",  "BRANCH_NEQ"};
    for (int k = 0; k < (int)(sizeof modes / sizeof *modes); k++)
        if (!strcmp(text, modes[k])) return k;
    return -1;
}
static int64_t place_of(const Key *key, int n, int64_t tree, int64_t id) {
    const Key want = {tree, id, 0}, *found = bsearch(&want, key, (size_t)n, sizeof want, by_name);
    return found ? found->at : -1;
}

/* Fills node[n][TREE_FIELDS], the table of nodes, and marks the nodes that are children. */
static bool link_nodes(Import *s, const Lists *t, const Key *key, int64_t *node, bool *child) {
    for (int k = 0; k < t->tree.n; k++, node += TREE_FIELDS) {
        node[TREE_FEATURE] = t->feature.ints[k], node[TREE_MODE] = mode_of(t->mode.texts[k]);
        node[TREE_MISSING] = t->missing.n ? t->missing.ints[k] : 0;
        if (node[TREE_MODE] < 0)
            return import_fail(s, "nodes_modes: %s is not known", t->mode.texts[k]);
        if (node[TREE_MODE] == TREE_LEAF) continue;
        node[TREE_YES] = place_of(key, t->tree.n, t->tree.ints[k], t->yes.ints[k]);
        node[TREE_NO] = place_of(key, t->tree.n, t->tree.ints[k], t->no.ints[k]);
        if (node[TREE_YES] < 0 || node[TREE_NO] < 0)
            return import_fail(s, "a node without its children");
        child[node[TREE_YES]] = child[node[TREE_NO]] = true;
    }
    return true;
}
/* Sorts the weights by leaf; the fields YES and NO of a leaf become the range of its weights. */
static bool link_leaves(Import *s, const Lists *t, const Key *key, int64_t *node, int64_t *output,
                        float *weight) {
    const int m = t->weight.n, n = t->tree.n;
    int64_t *of = ARENA_NEW(s->w->arena, int64_t, m), first = 0;
    for (int k = 0; k < m; k++) {
        of[k] = place_of(key, n, t->leaf_tree.ints[k], t->leaf_id.ints[k]);
        if (of[k] < 0 || node[of[k] * TREE_FIELDS + TREE_MODE] != TREE_LEAF)
            return import_fail(s, "a weight without a leaf");
        node[of[k] * TREE_FIELDS + TREE_NO]++;
    }
    for (int k = 0; k < n; k++) {
        int64_t *x = node + (int64_t)k * TREE_FIELDS;
        if (x[TREE_MODE] != TREE_LEAF) continue;
        const int64_t count = x[TREE_NO];
        x[TREE_YES] = x[TREE_NO] = first, first += count;
    }
    for (int k = 0; k < m; k++) {
        const int64_t at = node[of[k] * TREE_FIELDS + TREE_NO]++;
        output[at] = t->output.ints[k], weight[at] = t->weight.floats[k];
    }
    return true;
}

static bool give_trees(Import *s, const Lists *t) {
    enum { ROOTS = 1, NODES, VALUES, LEAVES, WEIGHTS };
    Arena *a = s->w->arena;
    const int n = t->tree.n, m = t->weight.n;
    Key *key = ARENA_NEW(a, Key, n);
    int64_t *node = ARENA_NEW(a, int64_t, (int64_t)n * TREE_FIELDS),
            *output = ARENA_NEW(a, int64_t, m), *root = ARENA_NEW(a, int64_t, n), roots = 0;
    float *weight = ARENA_NEW(a, float, m);
    bool *child = ARENA_NEW(a, bool, n);
    for (int k = 0; k < n; k++) key[k] = (Key){t->tree.ints[k], t->id.ints[k], k};
    qsort(key, (size_t)n, sizeof *key, by_name);
    if (!link_nodes(s, t, key, node, child) || !link_leaves(s, t, key, node, output, weight))
        return false;
    for (int k = 0; k < n; k++)
        if (!child[k]) root[roots++] = k;
    give_list(s, ROOTS, DT_INT64, (Dims){1, {poly_int(s->w, roots)}}, root);
    give_list(s, NODES, DT_INT64, (Dims){2, {poly_int(s->w, n), poly_int(s->w, TREE_FIELDS)}},
              node);
    give_list(s, VALUES, DT_FLOAT, (Dims){1, {poly_int(s->w, n)}}, t->value.floats);
    give_list(s, LEAVES, DT_INT64, (Dims){1, {poly_int(s->w, m)}}, output);
    give_list(s, WEIGHTS, DT_FLOAT, (Dims){1, {poly_int(s->w, m)}}, weight);
    return true;
}

bool import_trees_regressor(Import *s, int attr) {
    Lists t = {0};
    (void)attr;
    return read_lists(s, "target", &t) && give_trees(s, &t);
}
/* Whether all weights belong to the same class. */
static bool one_output(const Lists *t) {
    for (int k = 0; k < t->output.n; k++)
        if (t->output.ints[k] != t->output.ints[0]) return false;
    return true;
}
bool import_trees_classifier(Import *s, int attr) {
    Lists t = {0};
    OnnxAttr labels;
    (void)attr;
    if (!read_lists(s, "class", &t)) return false;
    if (onnx_attr(s, "classlabels_int64s", &labels) && labels.n == 2)
        return import_fail(s, "both of two classes have weights: runtimes differ on the label");
    return give_trees(s, &t);
}
/* Imports a classifier of two classes of which only one has weights. The attribute `positive` says
   that no weight is negative. */
bool import_trees_binary(Import *s, int attr) {
    Lists t = {0};
    if (!read_lists(s, "class", &t)) return false;
    if (!one_output(&t)) return import_fail(s, "several classes have weights");
    s->attr[attr].enum_value = 1, s->given[attr] = true;
    for (int k = 0; k < t.weight.n; k++)
        if (!(t.weight.floats[k] >= 0)) s->attr[attr].enum_value = 0;
    t.output.ints = ARENA_NEW(s->w->arena, int64_t, t.output.n);
    return give_trees(s, &t);
}
