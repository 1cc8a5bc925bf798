/* ops_signature.c -- tests signatures: the results and needs of shape(), the text of definitions,
   digests, the values of shape computations, and the language in which operators are written. */
#include "ops/operator/digest.h"
#include "ops/operator/op.h"
#include "ops/operator/signature.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { INPUTS = 8 };

static int setup(void **state) {
    World *w = world_new(NULL, 0);
    world_init_ops(w);
    *state = w;
    return 0;
}
static int teardown(void **state) {
    world_free(*state);
    return 0;
}
static TypeId type_of(World *w, const char *text) {
    Error e = {0};
    Type t;
    Scan s = scan_new("type", text, strlen(text), &e);
    if (!type_parse(w, &s, &t)) fail_msg("%s", e.reason);
    return type_intern(w, &t);
}
static Poly poly_of(World *w, const char *text) {
    Error e = {0};
    Poly p;
    Scan s = scan_new("poly", text, strlen(text), &e);
    if (!poly_parse(w, &s, &p)) fail_msg("%s", e.reason);
    return p;
}
static void attribute(World *w, const Op *op, char *assignment, Attr *attr, bool *given) {
    char *value = strchr(assignment, '=');
    Error e = {0};
    *value++ = 0;
    int k = attrs_find(op->attrs, assignment);
    Scan s = scan_new("attribute", value, strlen(value), &e);
    assert_true(k >= 0);
    if (!attr_parse(w, &s, &op->attrs[k], &attr[k])) fail_msg("%s", e.reason);
    given[k] = true;
}
/* Interns a signature from text: "conv; F [n, c, h]; F [o, c, k]; strides=[2]" has an operator, the
   types of its inputs (_ for none) and attributes. */
static Sig signature(World *w, const char *text, int nout) {
    char *copy = arena_string(w->arena, text, strlen(text)), *rest = copy;
    Attr attr[ATTRS_MAX];
    bool given[ATTRS_MAX] = {false};
    TypeId in[INPUTS];
    int nin = 0;
    const Op *op = op_find(strtok_r(copy, ";", &rest));
    assert_non_null(op);
    for (char *part; (part = strtok_r(NULL, ";", &rest));) {
        part += strspn(part, " ");
        if (strchr(part, '=')) attribute(w, op, part, attr, given);
        else in[nin++] = *part == '_' ? 0 : type_of(w, part);
    }
    for (int k = 0; k < attrs_count(op->attrs); k++)
        if (!given[k])
            assert_true(
                attr_default(w, &op->attrs[k], nin ? type_get(w, in[0])->dim.n : 0, &attr[k]));
    return sig_intern(w, op, attr, nin, in, nout);
}

/* The output types and needs, as in "F [n, c], F [n, d] where p = 0, q >= 0", or the reason why
   shape() refuses. */
static const char *said(World *w, Sig sig) {
    const SigInfo *info = sig_info(w, sig);
    Text t = text_new(w->arena);
    if (info->why) return info->why;
    for (int j = 0; j < info->nout; j++) {
        text_add(&t, j ? ", " : "");
        type_print(w, type_get(w, info->out[j]), &t);
    }
    for (int k = 0; k < info->nneed; k++) {
        text_add(&t, k ? ", " : " where ");
        poly_print(w, info->need[k].p, &t);
        text_add(&t, info->need[k].eq ? " = 0" : " >= 0");
    }
    return t.data;
}

typedef struct Row {
    const char *signature, *expected;
} Row;

static void test_shapes(void **state) {
    static const Row rows[] = {
        {"conv; F [1, 6, 8, 8]; F [9, 2, 3, 3]; F [9]; group=3; strides=[2, 1]", "F [1, 9, 3, 6]"},
        {"conv; F [n, c, h]; F [o, c, 3]; pads=[1, 1]", "F [n, o, h]"},
        {"conv; F [n, c, h]; F [o, d, 1]; group=g",
         "F [n, o, h] where g - 1 >= 0, -d*g + c = 0, -floor(o/g)*g + o = 0"},
        {"matmul; F [b, m, k]; F [k, n]", "F [b, m, n]"},
        {"matmul; F [m, k]; F [l, n]", "F [m, n] where k - l = 0"},
        {"gemm; F [k, m]; F [n, k]; F [n]; transA=yes; transB=yes", "F [m, n]"},
        {"add; F [n, c, h, w]; F [h, w]", "F [n, c, h, w]"},
        {"add; F []; F [n]", "F [n]"},
        {"concat; F [n, c]; F [n, d]; axis=-1", "F [n, c + d]"},
        {"slice; F [n, 9]; starts=[0, 8]; sizes=[n, 3]; steps=[1, -2]", "F [n, 3]"},
        {"slice; F [n]; sizes=[m]", "F [m] where m >= 0, -m + n >= 0"},
        {"pad; F [n]; pads=[p, q]", "F [n + p + q] where n + p + q >= 0"},
        {"transpose; F [n, c, h]; perm=[2, 0, 1]", "F [h, n, c]"},
        {"reshape; F [n, c, h]; shape=[m, h]", "F [m, h] where c*h*n - h*m = 0, m >= 0"},
        {"reshape; F [0, 3]; shape=[5, 0]", "F [5, 0]"},
        {"broadcast; F [1, c]; shape=[n, h, c]", "F [n, h, c] where n >= 0, h >= 0"},
        {"reduce_sum; F [n, c, h]; axes=[-1, 0]", "F [c]"},
        {"reduce_max; F [n]; axes=[]", "F [n]"},
        {"batchnorm; F [n, c, h]; F [c]; F [c]; F [c]; F [d]", "F [n, c, h] where -c + d = 0"},
        {"maxpool; F [1, 2, 7]; kernel=[2]; strides=[2]; ceil=yes", "F [1, 2, 4]"},
        {"maxpool; F [1, 2, 4]; kernel=[1]; strides=[3]; ceil=yes", "F [1, 2, 2]"},
        {"averagepool; F [n, c, 8]; kernel=[3]; strides=[2]; pads=[1, 1]; ceil=yes", "F [n, c, 5]"},
        {"fill; shape=[n, 2]", "F [n, 2] where n >= 0"},
        {"gather; F [a, b, c]; I64 [i, j]; axis=1", "F [a, i, j, c]"},
        {"convtranspose; F [n, c, 4]; F [c, o, 3]; strides=[2]", "F [n, o, 9]"},
        {"equal; I64 [n]; I64 []", "B [n]"},
        {"input; serial=1; types=[1, 2, n, 4]", "F [n, 4]"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        assert_string_equal(said(*state, signature(*state, rows[k].signature, 1)),
                            rows[k].expected);
}

static void test_split_has_as_many_outputs_as_sizes(void **state) {
    assert_string_equal(
        said(*state, signature(*state, "split; F [n, 7]; axis=-1; sizes=[3, 4]", 2)),
        "F [n, 3], F [n, 4]");
    assert_string_equal(said(*state, signature(*state, "split; F [n, 7]; axis=1; sizes=[3, 4]", 3)),
                        "split needs one size for each output");
}

static void test_refusals(void **state) {
    static const Row rows[] = {
        {"matmul; F [2, 3]; F [4, 5]", "the sizes do not match"},
        {"matmul; F [3]; F [3, 5]", "matmul needs matrices"},
        {"matmul; F [2, 3]; F64 [3, 5]", "the inputs have different element types"},
        {"conv; F [1, 4, 8]; F [3, 2, 3]; group=2", "the sizes do not match"},
        {"conv; F [1, 4, 2]; F [3, 4, 5]", "the sizes do not match"},
        {"exp; I64 [3]", "not supported for this element type"},
        {"concat; F [2]; F [3]; axis=1", "axis out of range"},
        {"transpose; F [2, 3]; perm=[0, 0]", "perm is not a permutation of the axes"},
        {"slice; F [4]; starts=[2]; sizes=[3]", "the sizes do not match"},
        {"slice; F [4]; sizes=[2]; steps=[-1]", "the sizes do not match"},
        {"reduce_sum; F [2, 3]; axes=[0, -2]", "an axis is given twice"},
        {"add; F [2]", "too few inputs"},
        {"relu; F [2]; F [2]", "too many inputs"},
        {"relu; F ?", "the rank of an input is not known"},
        {"reshape; F [4000000000, 4000000000]; shape=[1]", "sizes overflow"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        assert_string_equal(said(*state, signature(*state, rows[k].signature, 1)),
                            rows[k].expected);
    assert_false(overflow_noted(*state));
}

static const char *defined(World *w, Sig sig, int port) {
    Text t = text_new(w->arena);
    Ex e = sig_define(w, sig, port);
    if (!e) return "none";
    ex_print(w, e, &t);
    return t.data;
}
static void test_definitions(void **state) {
    static const Row rows[] = {
        {"matmul; F [b, m, k]; F [k, n]", "sum(k0 < k; ; (x0[i0, i1, k0] * x1[k0, i2]))"},
        {"conv; F [n, c, h]; F [o, c, 1]",
         "sum(k0 < c, k1 < 1; h - i2 - k1 - 1 >= 0; (x0[i0, k0, i2 + k1] * x1[i1, k0, k1]))"},
        {"concat; F [n]; F [m]; axis=0", "if(-i0 + n - 1 >= 0; x0[i0], x1[i0 - n])"},
        {"concat; F [n]; axis=0", "x0[i0]"},
        {"reshape; F [n, c, h, w]; shape=[n, 1, c, h*w]",
         "x0[i0, i2, digit(i3, [h, w], 0), digit(i3, [h, w], 1)]"},
        {"reshape; F [n, h*w]; shape=[n, h, w]", "x0[i0, i1*w + i2]"},
        {"pad; F [n, m]; pads=[0, 1, 0, 1]; value=1/2",
         "if(-i1 + m >= 0, i1 - 1 >= 0; x0[i0, i1 - 1], 1/2)"},
        {"clip; F [n]; min=0", "max(x0[i0], 0)"},
        {"clip; F [n]", "x0[i0]"},
        {"div; I64 [n]; I64 [n]", "none"},
        {"gather; F [n, c]; I64 [m]", "take(k0 < n; x1[i0]; x0[k0, i1])"},
        {"where; B [m]; F [n, m]; F []", "where(x0[i1], x1[i0, i1], x2[])"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        assert_string_equal(defined(*state, signature(*state, rows[k].signature, 1), 0),
                            rows[k].expected);
    assert_string_equal(
        defined(*state, signature(*state, "split; F [n, 7]; axis=1; sizes=[3, 4]", 2), 1),
        "x0[i0, i1 + 3]");
}

static void test_equal_signatures_are_one(void **state) {
    World *w = *state;
    assert_int_equal(signature(w, "reduce_sum; F [n, c, h]; axes=[-1, 0]", 1),
                     signature(w, "reduce_sum; F [n, c, h]; axes=[0, 2]", 1));
    assert_int_equal(signature(w, "conv; F [n, c, h]; F [o, c, k]", 1),
                     signature(w, "conv; F [n, c, h]; F [o, c, k]; strides=[1]; pads=[0, 0]", 1));
    assert_int_not_equal(signature(w, "softmax; F [n, c]; axis=0", 1),
                         signature(w, "softmax; F [n, c]; axis=-1", 1));
}

static void test_structure(void **state) {
    static const struct {
        const char *signature;
        SigKind kind;
    } rows[] = {
        {"transpose; F [n, c]; perm=[1, 0]", SIG_VIEW},
        {"slice; F [9]; starts=[8]; sizes=[3]; steps=[-2]", SIG_VIEW},
        {"broadcast; F [1, c]; shape=[n, c]", SIG_VIEW},
        {"reshape; F [n, c]; shape=[n, 1, c]", SIG_VIEW},
        {"reshape; F [n, c, h]; shape=[n, c*h]", SIG_RESHAPE},
        {"reshape; F [n, 1, c, h]; shape=[c*h, n]", SIG_RESHAPE},
        {"reshape; F [6, 4]; shape=[3, 8]", SIG_RESHAPE},
        {"resize; F [n, c, h]; sizes=[n, c, 2*h]", SIG_OTHER},
        {"add; F [n, c]; F [c]", SIG_ELEMENTWISE},
        {"batchnorm; F [n, c]; F [c]; F [c]; F [c]; F [c]", SIG_ELEMENTWISE},
        {"relu; F [n]", SIG_ELEMENTWISE},
        {"reduce_mean; F [n, c]; axes=[0]", SIG_REDUCTION},
        {"reduce_min; F [n, c]; axes=[1]", SIG_REDUCTION},
        {"matmul; F [n, k]; F [k, m]", SIG_OTHER},
        {"concat; F [n]; F [m]; axis=0", SIG_OTHER},
        {"cumsum; F [n]; axis=0", SIG_OTHER},
        {"equal; F [n]; F [n]", SIG_ELEMENTWISE},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        assert_int_equal(sig_kind(*state, signature(*state, rows[k].signature, 1), 0),
                         rows[k].kind);
}

static void test_flops(void **state) {
    World *w = *state;
    Sizes none = {0};
    assert_float_equal(sig_flops(w, signature(w, "matmul; F [2, 3, 5]; F [5, 7]", 1), none),
                       2. * 2 * 3 * 5 * 7, 0);
    assert_float_equal(
        sig_flops(w, signature(w, "conv; F [1, 6, 8, 8]; F [9, 2, 3, 3]; F [9]; group=3", 1), none),
        9. * 36 * (2 * 18 + 1), 0);
    assert_float_equal(sig_flops(w, signature(w, "transpose; F [2, 3]; perm=[1, 0]", 1), none), 0,
                       0);
    /* The maximum, the sum and its reciprocal are counted once for a row, so that 4 to 8 operations
       remain for each of the 12 elements. */
    double softmax = sig_flops(w, signature(w, "softmax; F [3, 4]", 1), none);
    assert_true(softmax >= 12 * 4 && softmax <= 12 * 8);
    assert_true(sig_flops(w, signature(w, "relu; F [n]", 1), none) < 0);
    /* What computes nothing does so at all sizes. */
    assert_float_equal(sig_flops(w, signature(w, "gather; F [n, 8]; I64 [m]", 1), none), 0, 0);
    int64_t value[64];
    for (int k = 0; k < 64; k++) value[k] = SIZE_UNKNOWN;
    value[symbol_named(w, "n")] = 10;
    assert_float_equal(sig_flops(w, signature(w, "relu; F [n]", 1), (Sizes){64, value}), 10, 0);
}

/* A kernel may do less than its definition, or more than one operation for each element: a scatter
   adds each update once, and a recurrent step multiplies by all weights. */
static void test_work(void **state) {
    World *w = *state;
    const Sizes none = {0};
    static const struct {
        const char *signature;
        double work;
    } rows[] = {
        {"scatteradd; F [1000, 64]; I64 [50, 64]; F [50, 64]; axis=0", 50. * 64},
        {"scatterelements; F [9]; I64 [0]; F [0]; axis=0", 0},
        {"scatterndadd; F [100, 8]; I64 [7, 1]; F [7, 8]", 7. * 8},
        {"gru; F [5, 2, 3]; F [1, 12, 3]; F [1, 12, 4]; hidden=4", 5. * 2 * 12 * 2 * (3 + 4)},
        {"lstm; F [5, 2, 3]; F [2, 16, 3]; F [2, 16, 4]; hidden=4; direction=bidirectional",
         5. * 2 * 2 * 16 * 2 * (3 + 4)},
        {"matmul; F [2, 3, 5]; F [5, 7]", 2. * 2 * 3 * 5 * 7},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        assert_float_equal(sig_work(w, signature(w, rows[k].signature, 1), none), rows[k].work, 0);
    assert_true(sig_work(w, signature(w, "scatteradd; F [n]; I64 [m]; F [m]; axis=0", 1), none) <
                0);
    /* Evaluating the definition looks at all updates for each element. */
    assert_true(sig_flops(w, signature(w, rows[0].signature, 1), none) >= 1000. * 64 * 50);
}

/* y = x[i] applied to itself so often, each time as the next value's factor and its summand. */
enum { SHARED = 400 };
static const char *same_shape(Call *c) {
    c->out[0] = *c->in[0];
    return NULL;
}
static Ex shared_twice(Call *c, Dims i) {
    Ex y = at(c, 0, i);
    for (int k = 0; k < SHARED; k++) y = max2(c, mul(c, y, at(c, 0, i)), y);
    return y;
}
/* However large a definition is, what it shares is counted once. */
static void test_flops_of_shared(void **state) {
    static const Op shared = {"shared", "x", "y", NULL, same_shape, .define = shared_twice};
    World *w = *state;
    const TypeId x = type_of(w, "F [3]");
    const Sig sig = sig_intern(w, &shared, NULL, 1, &x, 1);
    assert_float_equal(sig_flops(w, sig, (Sizes){0}), 3. * 2 * SHARED, 0);
    assert_int_equal(sig_kind(w, sig, 0), SIG_ELEMENTWISE);
}

/* Definitions made after a mark are forgotten by the reset to it. */
static void test_backtracking(void **state) {
    World *w = *state;
    Sig matmul = signature(w, "matmul; F [m, k]; F [k, n]", 1);
    WorldMark mark = world_mark(w);
    for (int round = 0; round < 3; round++) {
        signature(w, round == 1 ? "tanh; F [q]" : "sigmoid; F [p]", 1);
        if (round == 1) sig_define(w, signature(w, "softmax; F [a, b]", 1), 0);
        assert_string_equal(defined(w, matmul, 0), "sum(k0 < k; ; (x0[i0, k0] * x1[k0, i1]))");
        assert_int_equal(sig_define(w, matmul, 0), sig_define(w, matmul, 0));
        world_reset(w, mark);
    }
}

static const char *twice_shape(Call *c) { return same_type(c, "F"); }
static Ex twice(Call *c, Dims i) { return add(c, at(c, 0, i), at(c, 0, i)); }
static Ex twice_again(Call *c, Dims i) {
    Ex x = at(c, 0, i);
    return add(c, x, x);
}
static Ex thrice_where_tall(Call *c, Dims i) {
    Ex x = at(c, 0, i);
    return i.n == 4 ? mul(c, num(c, 3, 1), x) : add(c, x, x);
}
static Ex thrice_at_most_axes(Call *c, Dims i) {
    Ex x = at(c, 0, i);
    return i.n == RANK_MAX ? mul(c, num(c, 3, 1), x) : add(c, x, x);
}
static Ex thrice_along_the_last(Call *c, Dims i) {
    Ex x = at(c, 0, i);
    return axis(c, 0, i.n) == RANK_MAX - 1 ? mul(c, num(c, 3, 1), x) : add(c, x, x);
}
static void test_digests(void **state) {
    World *w = *state;
    static const AttrDef axis[] = {{"axis", A_INT, "-1", .axes = true}, {0}};
    char all[256][33];
    assert_true(op_count() < 256);
    defined(w, signature(w, "conv; F [q, r, s]; F [t, r, u]", 1), 0); /* must have no effect */
    for (int k = 0; k < op_count(); k++) {
        digest_compute(w, op_at(k), all[k]);
        assert_int_equal(strlen(all[k]), 32);
        for (int j = 0; j < k; j++) assert_string_not_equal(all[j], all[k]);
        char kept[33];
        op_digest(w, op_at(k), kept);
        assert_string_equal(all[k], kept);
    }
    char a[33], b[33], c[33];
    op_digest(w, &(Op){"twice", "x", "y", .shape = twice_shape, .define = twice}, a);
    op_digest(w, &(Op){"twice", "x", "y", .shape = twice_shape, .define = twice_again}, b);
    op_digest(w, &(Op){"twice", "x", "y", .shape = twice_shape, .define = thrice_where_tall}, c);
    assert_string_equal(a, b);
    assert_string_not_equal(a, c);
    op_digest(w, &(Op){"twice", "x", "y", .shape = twice_shape, .define = thrice_at_most_axes}, c);
    assert_string_not_equal(a, c);
    op_digest(w, &(Op){"twice", "x", "y", axis, .shape = twice_shape, .define = twice}, a);
    op_digest(w,
              &(Op){"twice", "x", "y", axis, .shape = twice_shape, .define = thrice_along_the_last},
              c);
    assert_string_not_equal(a, c);
}

/* The values of a result. a and b are the values of the inputs: "n 4 -1", or "?" if they are
   unknown. */
static const char *valued(World *w, const char *sig_text, const char *a, const char *b) {
    const char *texts[] = {a, b};
    PolyList in[3] = {0};
    for (int k = 0; k < 2; k++) {
        if (!texts[k] || *texts[k] == '?') continue;
        Poly *v = ARENA_NEW(w->arena, Poly, 16);
        char *copy = arena_string(w->arena, texts[k], strlen(texts[k])), *rest = copy;
        for (char *part = strtok_r(copy, " ", &rest); part; part = strtok_r(NULL, " ", &rest))
            v[in[k].n++] = poly_of(w, part);
        in[k].v = v;
    }
    Sig sig = signature(w, sig_text, 1);
    const SigInfo *info = sig_info(w, sig);
    if (info->why) return info->why;
    Poly out[64] = {0};
    int64_t n = 1;
    const Type *t = type_get(w, info->out[0]);
    if (t->dim.n) poly_constant(w, t->dim.v[0], &n);
    if (!sig_value(w, sig, in, out)) return "unknown";
    Text text = text_new(w->arena);
    for (int64_t k = 0; k < n; k++) {
        text_add(&text, k ? " " : "");
        poly_print(w, out[k], &text);
    }
    return text.data;
}
static void test_values(void **state) {
    static const struct {
        const char *signature, *a, *b, *expected;
    } rows[] = {
        {"shape; F [n, 3, h]", NULL, NULL, "n 3 h"},
        {"shape; F [n, 3, h]; start=-2", NULL, NULL, "3 h"},
        {"size; F [n, 3]", NULL, NULL, "3*n"},
        {"gather; I64 [3]; I64 [2]", "n c h", "2 -3", "h n"},
        {"gather; I64 [3]; I64 []", "n c h", "1", "c"},
        {"concat; I64 [2]; I64 [1]; axis=0", "n c", "-1", "n c -1"},
        {"slice; I64 [4]; starts=[3]; sizes=[2]; steps=[-2]", "a b c d", NULL, "d b"},
        {"mul; I64 [2]; I64 []", "n 3", "2", "2*n 6"},
        {"sub; I64 [2]; I64 [2]", "n 3", "1 n", "n - 1 -n + 3"},
        {"div; I64 [2]; I64 []", "4*n h", "2", "2*n floor(h/2)"},
        {"div; I64 []; I64 []", "n-1", "2", "unknown"},
        {"mod; I64 []; I64 []", "7", "4", "3"},
        {"min; I64 []; I64 []", "n", "4", "min(4, n)"},
        {"abs; I64 [2]", "n -3", NULL, "n 3"},
        {"cast; I64 [1]; to=I32", "n", NULL, "n"},
        {"cast; I64 [1]; to=F", "n", NULL, "n"},
        {"cast; I64 [1]; to=I8", "n", NULL, "unknown"},
        {"cast; I64 [1]; to=B", "n", NULL, "unknown"},
        {"equal; I64 [3]; I64 []", "n+1 -1 0", "-1", "0 1 0"},
        {"equal; I64 [1]; I64 [1]", "n", "3", "unknown"},
        {"less; I64 [1]; I64 [1]", "n", "n+1", "1"},
        {"greaterequal; I64 [1]; I64 [1]", "n", "0", "1"},
        {"reduce_prod; I64 [3]; axes=[0]", "n 3 h", NULL, "3*h*n"},
        {"reduce_sum; I64 [2]; axes=[0]", "n 3", NULL, "n + 3"},
        {"range; n=3; start=a; step=2", NULL, NULL, "a a + 2 a + 4"},
        {"cumsum; I64 [3]; axis=0", "a b c", NULL, "a a + b a + b + c"},
        {"neg; I64 [1]", "?", NULL, "unknown"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        assert_string_equal(valued(*state, rows[k].signature, rows[k].a, rows[k].b),
                            rows[k].expected);
}

static void test_formulas(void **state) {
    World *w = *state;
    Call call = {.w = w}, *c = &call;
    Poly x = poly_of(w, "x"), y = poly_of(w, "y");
    assert_int_equal(poly(c, "s*i + d - s", x, y, poly_of(w, "3")), poly_of(w, "x*y + 3 - x"));
    assert_int_equal(poly(c, "-a*(b - 12)", x, y), poly_of(w, "12*x - x*y"));
    assert_int_equal(poly(c, "b*a - a*b", x, y), 0);
    assert_int_equal(poly(c, "1"), poly_int(w, 1));
    Dims d = digits(c, x, (Dims){3, {poly_int(w, 1), y, poly_int(w, 1)}});
    assert_true(d.n == 3 && d.v[0] == 0 && d.v[1] == x && d.v[2] == 0);
    assert_int_equal(product(c, (Dims){3, {x, y, x}}, 1, 3), poly_of(w, "x*y"));
    d = dims_without(dims_cons(x, dims_tail((Dims){3, {x, y, y}}, 2)), 1);
    assert_true(d.n == 2 && d.v[0] == x && d.v[1] == y);
}

static void test_table(void **state) {
    bool variadic;
    (void)state;
    for (int k = 0; k < op_count(); k++) {
        assert_ptr_equal(op_find(op_at(k)->name), op_at(k));
        assert_int_equal(op_index(op_at(k)), k);
        if (attrs_count(op_at(k)->attrs) > ATTRS_MAX)
            fail_msg("%s has %d attributes: raise ATTRS_MAX", op_at(k)->name,
                     attrs_count(op_at(k)->attrs));
    }
    assert_null(op_find("no such"));
    assert_int_equal(op_arity(op_find("conv"), &variadic), 2);
    assert_false(variadic);
    assert_int_equal(op_input_count(op_find("conv")), 3);
    assert_int_equal(op_arity(op_find("concat"), &variadic), 1);
    assert_true(variadic);
    assert_int_equal(op_arity(op_find("fill"), &variadic), 0);
    assert_int_equal(op_output_count(op_find("split"), &variadic), 1);
    assert_true(variadic);
    assert_true(op_algebraic(op_find("hardswish")) && op_algebraic(op_find("gather")) &&
                !op_algebraic(op_find("topk")));
    assert_non_null(op_kernel("gather"));
    assert_null(op_kernel("conv"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_table),
        TEST(test_shapes),
        TEST(test_split_has_as_many_outputs_as_sizes),
        TEST(test_refusals),
        TEST(test_definitions),
        TEST(test_equal_signatures_are_one),
        TEST(test_structure),
        TEST(test_flops),
        TEST(test_flops_of_shared),
        TEST(test_work),
        TEST(test_backtracking),
        TEST(test_digests),
        TEST(test_values),
        TEST(test_formulas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
