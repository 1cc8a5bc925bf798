/* taso_ranks.c -- finds the ranks of a rule's variables, which TASO leaves to the operators that
   read them. Tensors that must have the same rank are joined; an operator for matrices or images,
   or one that names its rank, fixes it. */
#include "ops/core/type.h"
#include "rules/taso_inner.h"

enum { IMAGE = 4 };

static int tensor_place(int side, TasoTensor t) {
    return t.op < 0 ? -t.op : TASO_VARIABLES + side * TASO_NODES + t.op;
}

static int find_root(int *parent, int k) {
    while (parent[k] != k) k = parent[k];
    return k;
}

static void join_groups(int *parent, int *rank, int a, int b) {
    a = find_root(parent, a);
    b = find_root(parent, b);
    if (rank[b] < 0) rank[b] = rank[a];
    parent[a] = b;
}

static void set_rank(const int *parent, int *rank, int k, int r) {
    rank[find_root((int *)(uintptr_t)parent, k)] = r;
}

static void rank_of_op(int *parent, int *rank, int side, int number, const TasoOp *op) {
    int y = tensor_place(side, (TasoTensor){number, 0});
    bool image = op->kind == TASO_CONV2D || op->kind == TASO_POOL2D_MAX ||
                 op->kind == TASO_POOL2D_AVG || op->kind == TASO_ENLARGE ||
                 op->kind == TASO_CONSTANT_ICONV || op->kind == TASO_CONSTANT_POOL ||
                 op->kind == TASO_CONSTANT_ONE;
    for (int k = 0; k < op->nin; k++) {
        if (op->kind == TASO_MUL && k == 1)
            set_rank(parent, rank, tensor_place(side, op->in[k]), 0);
        else join_groups(parent, rank, tensor_place(side, op->in[k]), y);
    }
    if (image) set_rank(parent, rank, y, IMAGE);
    if (op->kind == TASO_MATMUL || op->kind == TASO_CONSTANT_IMM) set_rank(parent, rank, y, 2);
    if (op->kind == TASO_TRANSPOSE && op->parameter[TASO_PM_NUMDIM] < 0)
        set_rank(parent, rank, y, 2);
    if (op->parameter[TASO_PM_NUMDIM] >= 0)
        set_rank(parent, rank, y, op->parameter[TASO_PM_NUMDIM]);
}

/* Where nothing fixes a rank, operators with an axis follow TASO's convention: variables -1 to -6
   are matrices, the others images. */
bool taso_ranks(const TasoRule *rule, int of[], bool *any_rank, const char **why) {
    enum { PLACES = TASO_VARIABLES + 2 * TASO_NODES };
    int parent[PLACES], rank[PLACES];
    bool has_axis = false;
    *any_rank = true;
    for (int k = 0; k < PLACES; k++) parent[k] = k, rank[k] = -1;
    for (int k = 0; k < TASO_VARIABLES; k++) of[k] = -1;
    for (int s = 0; s < 2; s++)
        for (int j = 0; j < rule->side[s].n; j++) {
            const TasoOp *op = &rule->side[s].op[j];
            for (int k = 0; k < op->nin; k++)
                if (op->in[k].op <= -TASO_VARIABLES) return *why = "too many variables", false;
            rank_of_op(parent, rank, s, j, op);
            has_axis |= op->parameter[TASO_PM_AXIS] >= 0;
        }
    for (int s = 0; s < 2; s++)
        for (int j = 0; j < rule->side[s].n; j++)
            for (int k = 0; k < rule->side[s].op[j].nin; k++) {
                int v = -rule->side[s].op[j].in[k].op, r = v > 0 ? rank[find_root(parent, v)] : -1;
                if (v <= 0) continue;
                if (r >= 0 || has_axis) *any_rank = false;
                of[v] = r >= 0 ? r : v <= 6 ? 2 : IMAGE;
                if (of[v] > RANK_MAX) return *why = "a rank above 8", false;
            }
    for (int k = 0; k < rule->nout; k++)
        for (int s = 0; s < 2; s++) {
            const int v = -rule->out[k][s].op;
            if (v >= TASO_VARIABLES) return *why = "too many variables", false;
            if (v > 0 && of[v] < 0)
                return *why = "an output is a variable that no operator reads", false;
        }
    return true;
}
