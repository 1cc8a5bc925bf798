/* taso_text.c -- one rule of TASO's as text. Both sides are built as graphs over symbolic inputs;
   whenever an equality that they or the outputs need has a size that stands alone, the size is
   replaced and everything is built again, until nothing is left to solve. TASO applies a rule only
   where both sides have shapes, so the inputs' types say what both demand; equalities that cannot
   be solved are conditions of the rule. */
#include "graphs/world.h"
#include "rules/taso_inner.h"
#include <stdlib.h>
#include <string.h>

static const char *kind_name(int kind) {
    static const char *const names[] = {
#define X(name) #name,
        TASO_OPS(X)
#undef X
    };
    return kind >= 0 && kind < TASO_KINDS ? names[kind] : "?";
}

enum { VARIABLES = TASO_VARIABLES, SOLVED = 128, EQUALITIES = 512, ROUNDS = 200, IMAGE = 4 };
typedef struct Solution {
    int n;
    Symbol from[SOLVED];
    Poly to[SOLVED];
} Solution;
typedef struct Ratios { /* channels of a convolution's inputs, and its number of groups */
    Poly over, under, group;
} Ratios;
typedef struct TasoWriter {
    World *w;
    Arena *arena;
    const TasoRule *rule;
    const char *why;
    bool settled;        /* the groups of convolutions are */
    bool any_rank;       /* no operator fixes a rank: all inputs are F [b..] */
    int rank[VARIABLES]; /* of variable -k; -1: it does not occur */
    Value input[VARIABLES];
    Solution sizes; /* of the left side, and of what only the right side names */
    Solution all;   /* with the equalities of the right side: used to divide */
    int neq, nhelper, naux;
    Poly eq[EQUALITIES];
    bool only_text[EQUALITIES]; /* a demand of TASO's that no node of ours has */
    Symbol helper[SOLVED];      /* named on the right side alone */
    Symbol auxiliary[SOLVED];   /* numbers of groups and the like, which may stand for anything */
    int npositive, nratio;
    Ratios ratio[TASO_NODES];
    Symbol positive[SOLVED]; /* what was divided by */
    Value value[2][TASO_NODES][2];
    Text *text; /* NULL: only types are wanted */
    int side;
} TasoWriter;

static bool rule_refuse(TasoWriter *x, const char *why) {
    if (!x->why) x->why = why;
    return false;
}

/* ---- sizes */

static Poly apply_solution(TasoWriter *x, const Solution *s, Poly p) {
    for (Poly before = ~p; before != p;) {
        before = p;
        p = poly_subst(x->w, p, s->n, s->from, s->to);
    }
    return p;
}

static Poly size_symbol(TasoWriter *x, const char *name, Symbol *list, int *n) {
    Poly p = poly_named(x->w, name);
    Symbol s = poly_is_symbol(x->w, p);
    bool there = false;
    for (int k = 0; k < *n; k++) there |= list[k] == s;
    if (!there && *n < SOLVED) list[(*n)++] = s;
    return apply_solution(x, &x->sizes, p);
}

/* What an operator names that its inputs do not say: on the left a variable of the pattern, on the
   right to be found. */
static Poly unknown(TasoWriter *x, const char *stem, int number) {
    const char *name = arena_format(x->arena, "%s%d%s", stem, number, x->side ? "r" : "");
    return x->side ? size_symbol(x, name, x->helper, &x->nhelper)
                   : size_symbol(x, name, x->auxiliary, &x->naux);
}

static bool among(Symbol s, int n, const Symbol *list) {
    for (int k = 0; k < n; k++)
        if (list[k] == s) return true;
    return false;
}

static void demand_equal(TasoWriter *x, Poly a, Poly b, bool only_text) {
    Poly p = apply_solution(x, &x->sizes, poly_sub(x->w, a, b));
    if (!p) return;
    if (x->neq == EQUALITIES) rule_refuse(x, "too many conditions");
    else {
        x->only_text[x->neq] = only_text;
        x->eq[x->neq++] = p;
    }
}

static bool positive_sum(TasoWriter *x, Poly p) {
    Monomial m;
    for (PolyScan s = poly_scan(x->w, p); poly_next(&s, &m);)
        if (m.coefficient < 0) return false;
    return true;
}

/* p == 0 solved for a symbol that stands alone in it: sizes of inputs only by sums of products, so
   that a type can be written and matched; a symbol that is not a size by anything, and first. */
static bool solve_equation(TasoWriter *x, Poly p, Solution *out) {
    Symbol best = 0;
    Poly value = 0;
    Monomial m;
    bool best_free = false;
    for (PolyScan s = poly_scan(x->w, p); poly_next(&s, &m);) {
        if (m.degree != 1 || (m.coefficient != 1 && m.coefficient != -1) ||
            symbol_def(x->w, m.symbol[0]).kind != SYM_NAMED)
            continue;
        Poly alone = poly_scale(x->w, poly_symbol(x->w, m.symbol[0]), m.coefficient);
        Poly rest = poly_scale(x->w, poly_sub(x->w, alone, p), m.coefficient);
        bool is_free =
            among(m.symbol[0], x->naux, x->auxiliary) || among(m.symbol[0], x->nhelper, x->helper);
        if (!is_free && !positive_sum(x, rest)) continue;
        if (poly_mentions(x->w, rest, m.symbol[0]) || (best_free && !is_free)) continue;
        best = m.symbol[0];
        value = rest;
        best_free = is_free;
    }
    if (!best || out->n == SOLVED) return false;
    for (int k = 0; k < out->n; k++) out->to[k] = poly_subst(x->w, out->to[k], 1, &best, &value);
    out->from[out->n] = best;
    out->to[out->n++] = value;
    return true;
}

/* TASO's sizes are positive: a factor that all terms have in common is divided out, and that it is
   not 0 becomes a condition of the rule. */
static Poly divided(TasoWriter *x, Poly p) {
    Monomial first, m;
    PolyScan s = poly_scan(x->w, p);
    if (!poly_next(&s, &first)) return p;
    for (uint32_t k = 0; k < first.degree; k++) {
        bool common = symbol_def(x->w, first.symbol[k]).kind == SYM_NAMED;
        for (s = poly_scan(x->w, p); common && poly_next(&s, &m);)
            common = among(first.symbol[k], (int)m.degree, m.symbol);
        Poly quotient;
        if (!common || !poly_divide(x->w, p, poly_symbol(x->w, first.symbol[k]), &quotient))
            continue;
        if (!among(first.symbol[k], x->npositive, x->positive) && x->npositive < SOLVED)
            x->positive[x->npositive++] = first.symbol[k];
        return divided(x, quotient);
    }
    return p;
}

/* ---- nodes */

static Dims dims(TasoWriter *x, Value v) { return value_type(x->w, v)->dim; }

static void print_value(TasoWriter *x, TasoTensor t) {
    if (t.op < 0) text_add(x->text, " %%x%d", -t.op);
    else
        text_add(x->text, " %%%s%d%s", x->side ? "r" : "l", t.op,
                 x->rule->side[x->side].op[t.op].kind != TASO_SPLIT ? ""
                 : t.port                                           ? "b"
                                                                    : "a");
}

typedef struct Line {
    const Op *op;
    Attr attr[ATTRS_MAX];
    bool given[ATTRS_MAX];
} Line;

static Line line(const Op *op) { return (Line){.op = op}; }

static void set_list(TasoWriter *x, Line *l, const char *name, int n, const Poly *v) {
    int k = attrs_find(l->op->attrs, name);
    l->given[k] = true;
    l->attr[k].ints = (PolyList){n, arena_copy(x->arena, v, sizeof *v * (size_t)n)};
}
static void set_int(TasoWriter *x, Line *l, const char *name, Poly v) {
    set_list(x, l, name, 1, &v);
}

/* Makes the node and, if text is wanted, writes its line: number.stage is the name where TASO's
   operator is several of ours. */
static Value line_node(TasoWriter *x, Line *l, int nin, const Value in[], int nout) {
    const char *why = "";
    if (!node_attrs(x->w, l->op, nin ? in[0] : 0, l->given, l->attr, &why))
        return rule_refuse(x, why), 0;
    Value y = node_make(x->w, l->op, l->attr, nin, in, nout, &why);
    if (!y) return rule_refuse(x, arena_format(x->arena, "%s: %s", l->op->name, why)), 0;
    const SigInfo *info = sig_info(x->w, node_get(x->w, value_node(x->w, y)).sig);
    for (int k = 0; k < info->nneed; k++)
        if (info->need[k].eq) demand_equal(x, info->need[k].p, 0, false);
    return y;
}

static void print_attrs(TasoWriter *x, const Line *l) {
    for (int k = 0; k < attrs_count(l->op->attrs); k++) {
        if (!l->given[k]) continue;
        text_add(x->text, " %s=", l->op->attrs[k].name);
        attr_print(x->w, &l->op->attrs[k], &l->attr[k], x->text);
    }
    text_add(x->text, "\n");
}

/* Padding before and after one axis; SAME is ONNX's SAME_UPPER. */
static void padding(TasoWriter *x, Poly n, Poly kernel, Poly stride, bool same, Poly *before,
                    Poly *after) {
    World *w = x->w;
    Poly one = poly_int(w, 1), total = poly_sub(w, kernel, one);
    if (stride != one) {
        Poly windows = poly_floor(w, poly_sub(w, poly_add(w, n, stride), one), stride);
        total = poly_sub(w, poly_add(w, poly_mul(w, poly_sub(w, windows, one), stride), kernel), n);
        total = poly_sub(w, total, poly_min(w, total, 0));
    }
    *before = same ? poly_floor(w, total, poly_int(w, 2)) : 0;
    *after = same ? poly_sub(w, total, *before) : 0;
}

static bool set_windows(TasoWriter *x, Line *l, const TasoOp *op, Dims image,
                        const Poly kernel[2]) {
    int pad = op->parameter[TASO_PM_PAD],
        stride[2] = {op->parameter[TASO_PM_STRIDE_H], op->parameter[TASO_PM_STRIDE_W]};
    Poly s[2], p[4];
    if (pad != 0 && pad != 1) return rule_refuse(x, "the padding is neither SAME nor VALID");
    for (int j = 0; j < 2; j++) {
        if (stride[j] < 1) return rule_refuse(x, "a stride is missing");
        s[j] = poly_int(x->w, stride[j]);
        padding(x, image.v[2 + j], kernel[j], s[j], pad == 0, &p[j], &p[j + 2]);
    }
    if (stride[0] != 1 || stride[1] != 1) set_list(x, l, "strides", 2, s);
    if (p[0] || p[1] || p[2] || p[3]) set_list(x, l, "pads", 4, p);
    return true;
}

/* The kernel that TASO's parameters name; 0 or nothing: any. */
static Poly kernel_size(TasoWriter *x, const TasoOp *op, int j) {
    int k = op->parameter[j ? TASO_PM_KERNEL_W : TASO_PM_KERNEL_H];
    return k > 0 ? poly_int(x->w, k) : 0;
}

/* Channels of x over channels of w, as far as the sizes known by then allow to divide. What cannot
   be divided on the left is a variable G; on the right it is that G where the channels are those of
   a convolution on the left. */
static Poly groups(TasoWriter *x, int number, Dims image, Dims w) {
    Poly quotient, a = apply_solution(x, &x->all, image.v[1]),
                   b = apply_solution(x, &x->all, w.v[1]);
    if (b && poly_divide(x->w, a, b, &quotient)) return quotient;
    for (int k = 0; k < x->nratio; k++)
        if (x->ratio[k].over == a && x->ratio[k].under == b) return x->ratio[k].group;
    if (x->side) return poly_floor(x->w, image.v[1], w.v[1]);
    Poly group = unknown(x, "G", number);
    x->ratio[x->nratio++] = (Ratios){a, b, group};
    return group;
}

/* The kernel has G * q outputs: said once the groups are settled. */
static void demand_outputs_of_groups(TasoWriter *x, int number, Poly group, Dims w) {
    if (x->settled && !x->side && group != poly_int(x->w, 1) && poly_is_symbol(x->w, w.v[0]))
        demand_equal(x, w.v[0], poly_mul(x->w, group, unknown(x, "q", number)), false);
}

static Line convolution(TasoWriter *x, int number, const TasoOp *op, const Value in[]) {
    Line l = line(&op_conv);
    Dims image = dims(x, in[0]), w = dims(x, in[1]);
    Poly kernel[2];
    if (image.n != IMAGE || w.n != IMAGE)
        return rule_refuse(x, "a convolution whose rank is not 4"), l;
    for (int j = 0; j < 2; j++) {
        Poly k = kernel_size(x, op, j);
        kernel[j] = k ? k : w.v[2 + j];
        if (k) demand_equal(x, w.v[2 + j], k, true);
    }
    Poly group = groups(x, number, image, w);
    demand_outputs_of_groups(x, number, group, w);
    if (group != poly_int(x->w, 1)) set_int(x, &l, "group", group);
    set_windows(x, &l, op, image, kernel);
    return l;
}

static Line pooling(TasoWriter *x, const TasoOp *op, const Value in[]) {
    Line l = line(op->kind == TASO_POOL2D_MAX ? &op_maxpool : &op_averagepool);
    Dims image = dims(x, in[0]);
    Poly kernel[2] = {kernel_size(x, op, 0), kernel_size(x, op, 1)};
    if (!kernel[0] || !kernel[1] || image.n != IMAGE)
        return rule_refuse(x, "a pooling without a kernel, or whose rank is not 4"), l;
    set_list(x, &l, "kernel", 2, kernel);
    set_windows(x, &l, op, image, kernel);
    if (op->kind == TASO_POOL2D_AVG) {
        int k = attrs_find(l.op->attrs, "count_pads");
        l.given[k] = true;
        l.attr[k].word = 1;
    }
    return l;
}

/* TASO writes a permutation as a number in base rank. */
static Line transposition(TasoWriter *x, const TasoOp *op, const Value in[]) {
    Line l = line(&op_transpose);
    int rank = dims(x, in[0]).n, code = op->parameter[TASO_PM_PERM];
    Poly perm[RANK_MAX];
    if (code < 0 && rank != 2) return rule_refuse(x, "a transpose without a permutation"), l;
    for (int k = rank - 1; k >= 0; k--, code /= rank)
        perm[k] = poly_int(x->w, code < 0 || (rank == 2 && code < 1) ? 1 - k : code % rank);
    set_list(x, &l, "perm", rank, perm);
    return l;
}

static Line line_of_split(TasoWriter *x, int number, const TasoOp *op, const Value in[]) {
    Line l = line(&op_split);
    int axis = op->parameter[TASO_PM_AXIS];
    if (axis < 0 || axis >= dims(x, in[0]).n)
        return rule_refuse(x, "a split along an axis that does not exist"), l;
    if (op->parameter[TASO_PM_NUM_OUTPUTS] > 2)
        return rule_refuse(x, "a split into more than two pieces"), l;
    Poly n = dims(x, in[0]).v[axis], m = unknown(x, "m", number), rest = poly_sub(x->w, n, m);
    if (!x->side && poly_is_symbol(x->w, n)) { /* the pattern is m + k */
        rest = unknown(x, "k", number);
        demand_equal(x, n, poly_add(x->w, m, rest), false);
    }
    set_int(x, &l, "axis", poly_int(x->w, axis));
    set_list(x, &l, "sizes", 2, (Poly[]){m, rest});
    return l;
}

static Line line_of_constant(TasoWriter *x, int number, const TasoOp *op) {
    bool identity = op->kind == TASO_CONSTANT_ICONV;
    Poly c = unknown(x, "c", number), k[2] = {kernel_size(x, op, 0), kernel_size(x, op, 1)};
    if (op->kind == TASO_CONSTANT_IMM) {
        Line l = line(&op_band);
        set_int(x, &l, "n", c);
        return l;
    }
    if (op->kind == TASO_CONSTANT_ONE) {
        Line l = line(&op_fill);
        int v = attrs_find(l.op->attrs, "value");
        l.given[v] = true;
        l.attr[v].real = ex_rational(x->w, 1, 1);
        set_list(
            x, &l, "shape", 4,
            (Poly[]){c, unknown(x, "d", number), unknown(x, "h", number), unknown(x, "w", number)});
        return l;
    }
    Line l = line(identity ? &op_identitykernel : &op_averagekernel);
    if (!k[0] || !k[1]) return rule_refuse(x, "a kernel without known sizes"), l;
    set_list(x, &l, "channels", 2, (Poly[]){c, identity ? c : poly_int(x->w, 1)});
    set_list(x, &l, "kernel", 2, k);
    return l;
}

static Line concatenation(TasoWriter *x, const TasoOp *op) {
    Line l = line(&op_concat);
    if (op->parameter[TASO_PM_AXIS] < 0) rule_refuse(x, "a concat without an axis");
    else set_int(x, &l, "axis", poly_int(x->w, op->parameter[TASO_PM_AXIS]));
    return l;
}

static Line enlargement(TasoWriter *x, const TasoOp *op) {
    Line l = line(&op_enlarge);
    Poly k[2] = {kernel_size(x, op, 0), kernel_size(x, op, 1)};
    if (!k[0] || !k[1]) rule_refuse(x, "an enlarged kernel without known sizes");
    else set_list(x, &l, "kernel", 2, k);
    return l;
}

static Line line_of_operator(TasoWriter *x, int number, const TasoOp *op, const Value in[]) {
    const Op *plain = taso_plain_operator(op->kind);
    if (plain) return line(plain);
    switch (op->kind) {
    case TASO_CONV2D: return convolution(x, number, op, in);
    case TASO_POOL2D_MAX:
    case TASO_POOL2D_AVG: return pooling(x, op, in);
    case TASO_CONCAT: return concatenation(x, op);
    case TASO_SPLIT: return line_of_split(x, number, op, in);
    case TASO_TRANSPOSE: return transposition(x, op, in);
    case TASO_ENLARGE: return enlargement(x, op);
    case TASO_CONSTANT_IMM:
    case TASO_CONSTANT_ICONV:
    case TASO_CONSTANT_ONE:
    case TASO_CONSTANT_POOL: return line_of_constant(x, number, op);
    default:
        rule_refuse(x, arena_format(x->arena, "%s has no counterpart among the operators",
                                    kind_name(op->kind)));
        return line(&op_relu);
    }
}

static bool right_number_of_inputs(TasoWriter *x, const TasoOp *op) {
    bool pair = op->kind == TASO_CONV2D || op->kind == TASO_EW_ADD || op->kind == TASO_EW_MUL ||
                op->kind == TASO_MATMUL || op->kind == TASO_MUL;
    bool none = op->kind >= TASO_CONSTANT_IMM;
    bool fits = op->kind == TASO_CONCAT ? op->nin >= 1 : op->nin == (none ? 0 : pair ? 2 : 1);
    return fits || rule_refuse(x, arena_format(x->arena, "%s with %d inputs", kind_name(op->kind),
                                               op->nin));
}

static Value tensor_value(const TasoWriter *x, TasoTensor t) {
    return t.op < 0 ? x->input[-t.op] : x->value[x->side][t.op][t.port];
}

/* A fused activation is a node after the operator's. */
static bool write_op(TasoWriter *x, int number) {
    static const Op *const activation[] = {NULL, &op_sigmoid, &op_relu, &op_tanh};
    const TasoOp *op = &x->rule->side[x->side].op[number];
    int acti = op->parameter[TASO_PM_ACTI] > 0 ? op->parameter[TASO_PM_ACTI] : 0,
        nout = op->kind == TASO_SPLIT ? 2 : 1;
    Value in[TASO_INPUTS];
    const char *side = x->side ? "r" : "l";
    for (int k = 0; k < op->nin; k++) in[k] = tensor_value(x, op->in[k]);
    if (!right_number_of_inputs(x, op)) return false;
    Line l = line_of_operator(x, number, op, in);
    if (acti > 3) rule_refuse(x, "an unknown activation");
    if (x->why) return false;
    if (op->kind == TASO_EW_ADD || op->kind == TASO_EW_MUL || op->kind == TASO_MATMUL)
        if (dims(x, in[0]).n != dims(x, in[1]).n)
            return rule_refuse(x, "operands of different rank");
    Value y = line_node(x, &l, op->nin, in, nout);
    if (!y) return false;
    if (x->text) {
        if (nout == 2)
            text_add(x->text, "  %%%s%da %%%s%db = %s", side, number, side, number, l.op->name);
        else text_add(x->text, "  %%%s%d%s = %s", side, number, acti ? "c" : "", l.op->name);
        for (int k = 0; k < op->nin; k++) print_value(x, op->in[k]);
        print_attrs(x, &l);
    }
    if (acti) {
        Line f = line(activation[acti]);
        y = line_node(x, &f, 1, &y, 1);
        if (x->text)
            text_add(x->text, "  %%%s%d = %s %%%s%dc\n", side, number, f.op->name, side, number);
    }
    for (int k = 0; k < nout; k++) x->value[x->side][number][k] = y ? y + (Value)k : 0;
    return y != 0;
}

static bool write_side(TasoWriter *x, int side) {
    x->side = side;
    if (!side) x->nratio = 0;
    for (int k = 0; k < x->rule->side[side].n; k++) {
        int before = x->neq;
        if (!write_op(x, k)) return false;
        for (int j = before; j < x->neq; j++)
            solve_equation(x, divided(x, apply_solution(x, &x->all, x->eq[j])), &x->all);
    }
    if (x->text) text_add(x->text, "  out");
    for (int k = 0; k < x->rule->nout && x->text; k++) print_value(x, x->rule->out[k][side]);
    if (x->text) text_add(x->text, "\n");
    return true;
}

/* ---- the rule */

/* F [n7, c7, h7, w7] for variable -7, by the sizes solved so far. */
static void make_inputs(TasoWriter *x) {
    static const char letters[] = "nchwdefg";
    for (int k = 1; k < VARIABLES; k++) {
        if (x->rank[k] < 0) continue;
        Type t = {.dtype = DT_FLOAT, .known = true, .dim.n = x->any_rank ? 1 : x->rank[k]};
        for (int a = 0; a < t.dim.n; a++) {
            const char *name = x->any_rank ? "b_1" : arena_format(x->arena, "%c%d", letters[a], k);
            t.dim.v[a] = apply_solution(x, &x->sizes, poly_named(x->w, name));
        }
        x->input[k] = graph_input(x->w, arena_format(x->arena, "x%d", k), &t);
    }
}

static void demand_outputs(TasoWriter *x) {
    for (int k = 0; k < x->rule->nout; k++) {
        TasoTensor *t = (TasoTensor *)(uintptr_t)x->rule->out[k];
        Value y[2];
        for (x->side = 0; x->side < 2; x->side++) y[x->side] = tensor_value(x, t[x->side]);
        Dims a = dims(x, y[0]), b = dims(x, y[1]);
        if (a.n != b.n) rule_refuse(x, "an output has a different rank on the right side");
        for (int d = 0; d < a.n && !x->why; d++) demand_equal(x, a.v[d], b.v[d], false);
    }
}

/* Builds everything once more with what is solved. True: something more was solved, or it cannot be
   done. */
static bool again(TasoWriter *x) {
    x->neq = 0;
    x->all = x->sizes;
    make_inputs(x);
    if (!write_side(x, 0)) return true;
    if (!write_side(x, 1)) return true;
    demand_outputs(x);
    int64_t number;
    for (int k = 0; k < x->neq; k++) {
        Poly p = divided(x, x->eq[k]);
        if (poly_constant(x->w, p, &number))
            return rule_refuse(x, "the sizes of its two sides never agree"), true;
        if (solve_equation(x, p, &x->sizes)) return true;
    }
    return x->why != NULL;
}

static bool all_helpers_solved(TasoWriter *x) {
    for (int k = 0; k < x->nhelper; k++)
        if (!among(x->helper[k], x->sizes.n, x->sizes.from))
            return rule_refuse(
                x, "the left side does not determine what the right side needs (where it "
                   "splits, the size of a constant)");
    return true;
}

static bool left_reads(const TasoWriter *x, int variable) {
    for (int j = 0; j < x->rule->side[0].n; j++)
        for (int k = 0; k < x->rule->side[0].op[j].nin; k++)
            if (x->rule->side[0].op[j].in[k].op == -variable) return true;
    return false;
}

static void print_inputs(TasoWriter *x) {
    for (int k = 1; k < VARIABLES; k++) {
        if (x->rank[k] < 0) continue;
        if (!left_reads(x, k))
            rule_refuse(x, "the right side reads a variable that the left side does not have");
        text_add(x->text, "  %%x%d : ", k);
        if (x->any_rank) text_add(x->text, "F [b..]");
        else type_print(x->w, value_type(x->w, x->input[k]), x->text);
        text_add(x->text, "\n");
    }
}

/* Nothing of the left side demands it, or no node does, and it was not said before. */
static bool is_condition(const TasoWriter *x, int k, int left) {
    for (int j = 0; j < k; j++)
        if (x->eq[j] == x->eq[k] || x->eq[j] == poly_scale(x->w, x->eq[k], -1)) return false;
    return k >= left || x->only_text[k];
}

static void print_condition(TasoWriter *x, bool *first, Poly a, const char *sign, Poly b) {
    text_add(x->text, *first ? "where " : ", ");
    poly_print(x->w, a, x->text);
    text_add(x->text, " %s ", sign);
    poly_print(x->w, b, x->text);
    *first = false;
}

static void print_conditions(TasoWriter *x, int left) {
    bool first = true;
    for (int k = 0; k < x->neq; k++) {
        Poly plus = 0;
        Monomial m;
        if (!is_condition(x, k, left)) continue;
        for (PolyScan s = poly_scan(x->w, x->eq[k]); poly_next(&s, &m);)
            if (m.coefficient > 0) plus = poly_add(x->w, plus, poly_from(x->w, 1, &m));
        print_condition(x, &first, plus, "==", poly_sub(x->w, plus, x->eq[k]));
    }
    for (int k = 0; k < x->npositive; k++)
        if (!among(x->positive[k], x->naux, x->auxiliary) &&
            !among(x->positive[k], x->sizes.n, x->sizes.from))
            print_condition(x, &first, poly_symbol(x->w, x->positive[k]), ">=", poly_int(x->w, 1));
    if (!first) text_add(x->text, "\n");
}

static bool write_rule(TasoWriter *x, int number) {
    if (!taso_ranks(x->rule, x->rank, &x->any_rank, &x->why)) return false;
    for (int rounds = 0;; rounds++) {
        bool more = again(x);
        if (x->why || rounds == ROUNDS) return rule_refuse(x, "its sizes cannot be solved");
        if (!more && x->settled) break;
        x->settled |= !more;
    }
    if (!all_helpers_solved(x)) return false;
    x->text = ARENA_NEW(x->arena, Text, 1);
    *x->text = text_new(x->arena);
    x->neq = 0;
    text_add(x->text, "rule taso-%d\n%s", number, x->any_rank ? "  axes b = 0..4\n" : "");
    print_inputs(x);
    text_add(x->text, "from\n");
    write_side(x, 0);
    int left = x->neq;
    text_add(x->text, "to\n");
    write_side(x, 1);
    demand_outputs(x);
    print_conditions(x, left);
    return !x->why;
}

const char *taso_text(Arena *a, const TasoRule *rule, int number, const char **why) {
    TasoWriter *x = ARENA_NEW(a, TasoWriter, 1);
    *x = (TasoWriter){.w = graph_world_new(arena_escape(a), 0), .arena = a, .rule = rule};
    bool done = write_rule(x, number);
    *why = done ? "" : arena_string(a, x->why, strlen(x->why));
    world_free(x->w);
    return done ? x->text->data : NULL;
}
