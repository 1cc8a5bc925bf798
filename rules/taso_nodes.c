/* taso_nodes.c -- turns TASO's operators, with their parameters, into nodes and lines of text. */
#include "rules/taso_text_inner.h"

enum { IMAGE_RANK = 4 };

static const char *kind_name(int kind) {
    static const char *const names[] = {
#define X(name) #name,
        TASO_OPS(X)
#undef X
    };
    return kind >= 0 && kind < TASO_KINDS ? names[kind] : "?";
}

Dims taso_dims(TasoWriter *x, Value v) { return value_type(x->w, v)->dim; }

void taso_print_value(TasoWriter *x, TasoTensor t) {
    if (t.op < 0) text_add(x->text, " %%x%d", -t.op);
    else
        text_add(x->text, " %%%s%d%s", x->side ? "r" : "l", t.op,
                 x->rule->side[x->side].op[t.op].kind != TASO_SPLIT ? ""
                 : t.port                                           ? "b"
                                                                    : "a");
}

/* An operator with the attributes that are given. */
typedef struct TasoLine {
    const Op *op;
    Attr attr[ATTRS_MAX];
    bool given[ATTRS_MAX];
} TasoLine;

static TasoLine line(const Op *op) { return (TasoLine){.op = op}; }

static void set_list(TasoWriter *x, TasoLine *l, const char *name, int n, const Poly *v) {
    int k = attrs_find(l->op->attrs, name);
    l->given[k] = true;
    l->attr[k].ints = (PolyList){n, arena_copy(x->arena, v, sizeof *v * (size_t)n)};
}
static void set_int(TasoWriter *x, TasoLine *l, const char *name, Poly v) {
    set_list(x, l, name, 1, &v);
}

/* Makes the node of a line, and demands the equations among its needs. */
static Value line_node(TasoWriter *x, TasoLine *l, int nin, const Value in[], int nout) {
    const char *why = "";
    if (!node_attrs(x->w, l->op, nin ? in[0] : 0, l->given, l->attr, &why))
        return taso_refuse(x, why), 0;
    Value y = node_make(x->w, l->op, l->attr, nin, in, nout, &why);
    if (!y) return taso_refuse(x, arena_format(x->arena, "%s: %s", l->op->name, why)), 0;
    const SigInfo *info = sig_info(x->w, node_get(x->w, value_node(x->w, y)).sig);
    for (int k = 0; k < info->nneed; k++)
        if (info->need[k].eq) taso_demand(x, info->need[k].p, 0, false);
    return y;
}

static void print_attrs(TasoWriter *x, const TasoLine *l) {
    for (int k = 0; k < attrs_count(l->op->attrs); k++) {
        if (!l->given[k]) continue;
        text_add(x->text, " %s=", l->op->attrs[k].name);
        attr_print(x->w, &l->op->attrs[k], &l->attr[k], x->text);
    }
    text_add(x->text, "\n");
}

/* The padding before and after one axis; SAME is SAME_UPPER of ONNX. */
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

static bool set_windows(TasoWriter *x, TasoLine *l, const TasoOp *op, Dims image,
                        const Poly kernel[2]) {
    int pad = op->parameter[TASO_PM_PAD],
        stride[2] = {op->parameter[TASO_PM_STRIDE_H], op->parameter[TASO_PM_STRIDE_W]};
    Poly s[2], p[4];
    if (pad != 0 && pad != 1) return taso_refuse(x, "the padding is neither SAME nor VALID");
    for (int j = 0; j < 2; j++) {
        if (stride[j] < 1) return taso_refuse(x, "a stride is missing");
        s[j] = poly_int(x->w, stride[j]);
        padding(x, image.v[2 + j], kernel[j], s[j], pad == 0, &p[j], &p[j + 2]);
    }
    if (stride[0] != 1 || stride[1] != 1) set_list(x, l, "strides", 2, s);
    if (p[0] || p[1] || p[2] || p[3]) set_list(x, l, "pads", 4, p);
    return true;
}

/* The kernel size that TASO's parameters give; 0 if they leave it open. */
static Poly kernel_size(TasoWriter *x, const TasoOp *op, int j) {
    int k = op->parameter[j ? TASO_PM_KERNEL_W : TASO_PM_KERNEL_H];
    return k > 0 ? poly_int(x->w, k) : 0;
}

/* The number of groups: channels of x divided by channels of w, as far as the sizes known at that
   point allow the division. Otherwise it is a variable G on the left side. On the right side it is
   the G of a convolution on the left side with the same channels, or else the quotient rounded
   down. */
static Poly groups(TasoWriter *x, int number, Dims image, Dims w) {
    Poly quotient, a = solution_apply(x, &x->all, image.v[1]),
                   b = solution_apply(x, &x->all, w.v[1]);
    if (b && poly_divide(x->w, a, b, &quotient)) return quotient;
    for (int k = 0; k < x->nratio; k++)
        if (x->ratio[k].over == a && x->ratio[k].under == b) return x->ratio[k].group;
    if (x->side) return poly_floor(x->w, image.v[1], w.v[1]);
    Poly group = taso_unknown(x, "G", number);
    x->ratio[x->nratio++] = (Ratios){a, b, group};
    return group;
}

/* Demands that the kernel has G * q outputs, once the groups are settled. */
static void demand_outputs_of_groups(TasoWriter *x, int number, Poly group, Dims w) {
    if (x->settled && !x->side && group != poly_int(x->w, 1) && poly_is_symbol(x->w, w.v[0]))
        taso_demand(x, w.v[0], poly_mul(x->w, group, taso_unknown(x, "q", number)), false);
}

static TasoLine convolution(TasoWriter *x, int number, const TasoOp *op, const Value in[]) {
    TasoLine l = line(&op_conv);
    Dims image = taso_dims(x, in[0]), w = taso_dims(x, in[1]);
    Poly kernel[2];
    if (image.n != IMAGE_RANK || w.n != IMAGE_RANK)
        return taso_refuse(x, "a convolution whose rank is not 4"), l;
    for (int j = 0; j < 2; j++) {
        Poly k = kernel_size(x, op, j);
        kernel[j] = k ? k : w.v[2 + j];
        if (k) taso_demand(x, w.v[2 + j], k, true);
    }
    Poly group = groups(x, number, image, w);
    demand_outputs_of_groups(x, number, group, w);
    if (group != poly_int(x->w, 1)) set_int(x, &l, "group", group);
    set_windows(x, &l, op, image, kernel);
    return l;
}

static TasoLine pooling(TasoWriter *x, const TasoOp *op, const Value in[]) {
    TasoLine l = line(op->kind == TASO_POOL2D_MAX ? &op_maxpool : &op_averagepool);
    Dims image = taso_dims(x, in[0]);
    Poly kernel[2] = {kernel_size(x, op, 0), kernel_size(x, op, 1)};
    if (!kernel[0] || !kernel[1] || image.n != IMAGE_RANK)
        return taso_refuse(x, "a pooling without a kernel, or whose rank is not 4"), l;
    set_list(x, &l, "kernel", 2, kernel);
    set_windows(x, &l, op, image, kernel);
    if (op->kind == TASO_POOL2D_AVG) {
        int k = attrs_find(l.op->attrs, "count_pads");
        l.given[k] = true;
        l.attr[k].enum_value = 1;
    }
    return l;
}

/* A transpose; TASO writes the permutation as a number in the base of the rank. */
static TasoLine transposition(TasoWriter *x, const TasoOp *op, const Value in[]) {
    TasoLine l = line(&op_transpose);
    int rank = taso_dims(x, in[0]).n, code = op->parameter[TASO_PM_PERM];
    Poly perm[RANK_MAX];
    if (code < 0 && rank != 2) return taso_refuse(x, "a transpose without a permutation"), l;
    for (int k = rank - 1; k >= 0; k--, code /= rank)
        perm[k] = poly_int(x->w, code < 0 || (rank == 2 && code < 1) ? 1 - k : code % rank);
    set_list(x, &l, "perm", rank, perm);
    return l;
}

static TasoLine line_of_split(TasoWriter *x, int number, const TasoOp *op, const Value in[]) {
    TasoLine l = line(&op_split);
    int axis = op->parameter[TASO_PM_AXIS];
    if (axis < 0 || axis >= taso_dims(x, in[0]).n)
        return taso_refuse(x, "a split along an axis that does not exist"), l;
    if (op->parameter[TASO_PM_NUM_OUTPUTS] > 2)
        return taso_refuse(x, "a split into more than two pieces"), l;
    Poly n = taso_dims(x, in[0]).v[axis], m = taso_unknown(x, "m", number),
         rest = poly_sub(x->w, n, m);
    if (!x->side && poly_is_symbol(x->w, n)) { /* the size in the pattern becomes m + k */
        rest = taso_unknown(x, "k", number);
        taso_demand(x, n, poly_add(x->w, m, rest), false);
    }
    set_int(x, &l, "axis", poly_int(x->w, axis));
    set_list(x, &l, "sizes", 2, (Poly[]){m, rest});
    return l;
}

static TasoLine line_of_constant(TasoWriter *x, int number, const TasoOp *op) {
    bool identity = op->kind == TASO_CONSTANT_ICONV;
    Poly c = taso_unknown(x, "c", number), k[2] = {kernel_size(x, op, 0), kernel_size(x, op, 1)};
    if (op->kind == TASO_CONSTANT_IMM) {
        TasoLine l = line(&op_band);
        set_int(x, &l, "n", c);
        return l;
    }
    if (op->kind == TASO_CONSTANT_ONE) {
        TasoLine l = line(&op_fill);
        int v = attrs_find(l.op->attrs, "value");
        l.given[v] = true;
        l.attr[v].real = ex_rational(x->w, 1, 1);
        set_list(x, &l, "shape", 4,
                 (Poly[]){c, taso_unknown(x, "d", number), taso_unknown(x, "h", number),
                          taso_unknown(x, "w", number)});
        return l;
    }
    TasoLine l = line(identity ? &op_identitykernel : &op_averagekernel);
    if (!k[0] || !k[1]) return taso_refuse(x, "a kernel without known sizes"), l;
    set_list(x, &l, "channels", 2, (Poly[]){c, identity ? c : poly_int(x->w, 1)});
    set_list(x, &l, "kernel", 2, k);
    return l;
}

static TasoLine concatenation(TasoWriter *x, const TasoOp *op) {
    TasoLine l = line(&op_concat);
    if (op->parameter[TASO_PM_AXIS] < 0) taso_refuse(x, "a concat without an axis");
    else set_int(x, &l, "axis", poly_int(x->w, op->parameter[TASO_PM_AXIS]));
    return l;
}

static TasoLine enlargement(TasoWriter *x, const TasoOp *op) {
    TasoLine l = line(&op_enlarge);
    Poly k[2] = {kernel_size(x, op, 0), kernel_size(x, op, 1)};
    if (!k[0] || !k[1]) taso_refuse(x, "an enlarged kernel without known sizes");
    else set_list(x, &l, "kernel", 2, k);
    return l;
}

static TasoLine line_of_operator(TasoWriter *x, int number, const TasoOp *op, const Value in[]) {
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
        taso_refuse(x, arena_format(x->arena, "%s has no counterpart among the operators",
                                    kind_name(op->kind)));
        return line(&op_relu);
    }
}

static bool right_number_of_inputs(TasoWriter *x, const TasoOp *op) {
    bool pair = op->kind == TASO_CONV2D || op->kind == TASO_EW_ADD || op->kind == TASO_EW_MUL ||
                op->kind == TASO_MATMUL || op->kind == TASO_MUL;
    bool none = op->kind >= TASO_CONSTANT_IMM;
    bool fits = op->kind == TASO_CONCAT ? op->nin >= 1 : op->nin == (none ? 0 : pair ? 2 : 1);
    return fits || taso_refuse(x, arena_format(x->arena, "%s with %d inputs", kind_name(op->kind),
                                               op->nin));
}

Value taso_value(const TasoWriter *x, TasoTensor t) {
    return t.op < 0 ? x->input[-t.op] : x->value[x->side][t.op][t.port];
}

/* A fused activation becomes a node after that of the operator. */
bool taso_write_op(TasoWriter *x, int number) {
    static const Op *const activation[] = {NULL, &op_sigmoid, &op_relu, &op_tanh};
    const TasoOp *op = &x->rule->side[x->side].op[number];
    int acti = op->parameter[TASO_PM_ACTI] > 0 ? op->parameter[TASO_PM_ACTI] : 0,
        nout = op->kind == TASO_SPLIT ? 2 : 1;
    Value in[TASO_INPUTS];
    const char *side = x->side ? "r" : "l";
    for (int k = 0; k < op->nin; k++) in[k] = taso_value(x, op->in[k]);
    if (!right_number_of_inputs(x, op)) return false;
    TasoLine l = line_of_operator(x, number, op, in);
    if (acti > 3) taso_refuse(x, "an unknown activation");
    if (x->why) return false;
    if (op->kind == TASO_EW_ADD || op->kind == TASO_EW_MUL || op->kind == TASO_MATMUL)
        if (taso_dims(x, in[0]).n != taso_dims(x, in[1]).n)
            return taso_refuse(x, "operands of different rank");
    Value y = line_node(x, &l, op->nin, in, nout);
    if (!y) return false;
    if (x->text) {
        if (nout == 2)
            text_add(x->text, "  %%%s%da %%%s%db = %s", side, number, side, number, l.op->name);
        else text_add(x->text, "  %%%s%d%s = %s", side, number, acti ? "c" : "", l.op->name);
        for (int k = 0; k < op->nin; k++) taso_print_value(x, op->in[k]);
        print_attrs(x, &l);
    }
    if (acti) {
        TasoLine f = line(activation[acti]);
        y = line_node(x, &f, 1, &y, 1);
        if (x->text)
            text_add(x->text, "  %%%s%d = %s %%%s%dc\n", side, number, f.op->name, side, number);
    }
    for (int k = 0; k < nout; k++) x->value[x->side][number][k] = y ? y + (Value)k : 0;
    return y != 0;
}
