/* ops_core_expr.c -- tests expressions, types and attributes: what is simplified and what is not,
   the canonical text, substitution with fresh bound variables, and that texts are read back. */
#include "ops/core/attr.h"
#include "ops/core/expr.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static World *w;

static int setup(void **state) {
    (void)state;
    w = world_new(NULL, 0);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    world_free(w);
    return 0;
}

static Poly index_of(uint32_t n) { return poly_symbol(w, symbol_index(w, n)); }
static Poly P(const char *name) { return poly_named(w, name); }
static Ex num(int64_t p, int64_t q) { return ex_rational(w, p, q); }
static Ex at(uint32_t input, int n, Poly i, Poly j) {
    return ex_make(w, &(ExNode){.kind = EX_AT, .word = input, .n = n, .dims = {i, j}});
}
static Ex pair(ExKind k, Ex a, Ex b) { return ex_make(w, &(ExNode){.kind = k, .a = a, .b = b}); }
static Ex fn(Function f, Ex a) { return ex_make(w, &(ExNode){.kind = EX_FN, .word = f, .a = a}); }
static Ex sum(Poly k, Cond c, Ex a) {
    return ex_make(w, &(ExNode){.kind = EX_SUM, .n = k ? 1 : 0, .dims = {k}, .cond = c, .a = a});
}
static Poly bound(Poly n) { return poly_symbol(w, symbol_bound(w, n)); }

static void prints(Ex e, const char *expected) {
    Text t = text_new(w->arena);
    ex_print(w, e, &t);
    assert_string_equal(t.data, expected);
}

/* The expression sum(k < n; x0[i0, k] * x1[k, i1]). */
static Ex matmul(const char *n) {
    Poly k = bound(P(n));
    return sum(k, (Cond){0}, pair(EX_MUL, at(0, 2, index_of(0), k), at(1, 2, k, index_of(1))));
}

/* A zero keeps its sign: x - 0 is x for every x, x - (-0) is not x for x = -0, and 1/0 is not
   1/-0. */
static void a_zero_keeps_its_sign(void **state) {
    (void)state;
    double v = 1;
    assert_int_not_equal(ex_real(w, -0.0), ex_real(w, 0.0));
    assert_true(ex_number(w, ex_real(w, -0.0), &v) && v == 0 && signbit(v));
    prints(ex_real(w, -0.0), "-0");
    assert_int_equal(ex_real(w, 0.0), num(0, 1));
}

static void test_numbers(void **state) {
    (void)state;
    Ex x = at(0, 1, index_of(0), 0);
    assert_int_equal(num(2, -4), num(-1, 2));
    assert_int_equal(pair(EX_ADD, num(1, 3), num(1, 6)), num(1, 2));
    assert_int_equal(pair(EX_MUL, num(2, 3), num(3, 2)), num(1, 1));
    assert_int_equal(pair(EX_MAX2, num(2, 3), num(3, 4)), num(3, 4));
    assert_int_equal(pair(EX_MIN2, num(2, 3), num(3, 4)), num(2, 3));
    assert_int_equal(pair(EX_ADD, x, num(0, 1)), x);
    assert_int_equal(pair(EX_MUL, num(1, 1), x), x);
    prints(pair(EX_MUL, x, num(0, 1)), "(x0[i0] * 0)");
    prints(pair(EX_ADD, num(INT64_MAX, 1), num(1, 1)), "(9223372036854775807 + 1)");
    assert_int_equal(fn(FN_RECIP, num(-2, 3)), num(-3, 2));
    prints(fn(FN_RECIP, num(0, 1)), "recip(0)");
    assert_int_equal(fn(FN_FLOOR, num(-3, 2)), num(-2, 1));
    assert_int_equal(fn(FN_CEIL, num(-3, 2)), num(-1, 1));
    assert_int_equal(fn(FN_DELTA, num(0, 1)), num(1, 1));
    assert_int_equal(ex_real(w, 0.375), num(3, 8));
    prints(ex_real(w, 0.1), "0.1");
    prints(ex_real(w, -INFINITY), "-inf");
    double v = 0;
    assert_true(ex_number(w, num(1, 4), &v) && v == 0.25);
    assert_true(ex_number(w, ex_real(w, 0.1), &v) && v == 0.1);
    assert_false(ex_number(w, x, &v));
    assert_int_equal(ex_make(w, &(ExNode){.kind = EX_SIZE, .size = poly_int(w, 5)}), num(5, 1));
    prints(ex_make(w, &(ExNode){.kind = EX_SIZE, .size = P("n")}), "size(n)");
    prints(ex_param(w, "alpha"), "alpha");
    assert_false(overflow_noted(w));
    num(1, 0);
    assert_true(overflow_noted(w));
}

static void test_conditions(void **state) {
    (void)state;
    Ex x = at(0, 1, index_of(0), 0), y = at(1, 1, index_of(0), 0);
    Lit holds = {poly_int(w, 2), false}, fails = {poly_int(w, 2), true}, open = {P("n"), false};
    assert_int_equal(sum(0, (Cond){1, {holds}}, x), x);
    assert_int_equal(sum(0, (Cond){2, {open, fails}}, x), num(0, 1));
    assert_int_equal(sum(0, (Cond){3, {open, holds, open}}, x), sum(0, (Cond){1, {open}}, x));
    prints(sum(0, (Cond){2, {open, {poly_sub(w, P("n"), P("m")), true}}}, x),
           "sum(; -m + n == 0, n >= 0; x0[i0])");
    ExNode n = {.kind = EX_IF, .a = x, .b = y, .cond = {1, {fails}}};
    assert_int_equal(ex_make(w, &n), y);
    n.cond = (Cond){1, {holds}};
    assert_int_equal(ex_make(w, &n), x);
    n.cond = (Cond){1, {open}};
    prints(ex_make(w, &n), "if(n >= 0; x0[i0], x1[i0])");
    n = (ExNode){.kind = EX_MAXIMUM, .a = x, .cond = {1, {fails}}};
    assert_int_equal(ex_make(w, &n), ex_real(w, -INFINITY));
    ExNode back;
    ex_get(w, sum(0, (Cond){1, {open}}, x), &back);
    assert_int_equal(back.kind, EX_SUM);
    assert_int_equal(back.cond.n, 1);
    assert_int_equal(back.cond.v[0].p, open.p);
    assert_int_equal(back.a, x);
}

static void test_choice_by_data(void **state) {
    (void)state;
    Ex x = at(0, 1, index_of(0), 0), y = at(1, 1, index_of(0), 0), c = at(2, 1, index_of(0), 0);
    ExNode n = {.kind = EX_WHERE, .c = c, .a = x, .b = y};
    Ex choice = ex_make(w, &n);
    prints(choice, "where(x2[i0], x0[i0], x1[i0])");
    assert_int_equal(ex_reads(w, choice, 2), 1);
    Symbol i0 = symbol_index(w, 0);
    Poly to = P("n");
    prints(ex_subst(w, choice, 1, &i0, &to, (Ex[]){0, 0, y}, 3), "where(x1[n], x0[n], x1[n])");
    n.b = x;
    assert_int_equal(ex_make(w, &n), x);
    n = (ExNode){.kind = EX_WHERE, .c = num(0, 1), .a = x, .b = y};
    assert_int_equal(ex_make(w, &n), y);
    n.c = num(3, 1);
    assert_int_equal(ex_make(w, &n), x);
}

static void test_take(void **state) {
    (void)state;
    Poly k = poly_symbol(w, symbol_bound(w, P("n")));
    ExNode n = {.kind = EX_TAKE,
                .n = 1,
                .dims = {k},
                .a = at(1, 1, index_of(0), 0),
                .b = at(0, 2, k, index_of(1))};
    Ex row = ex_make(w, &n);
    prints(row, "take(k0 < n; x1[i0]; x0[k0, i1])");
    prints(pair(EX_ADD, row, row),
           "(take(k0 < n; x1[i0]; x0[k0, i1]) + take(k1 < n; x1[i0]; x0[k1, i1]))");
    Symbol from[] = {symbol_index(w, 0), symbol_named(w, "n")};
    Poly to[] = {P("p"), P("q")};
    prints(ex_subst(w, row, 2, from, to, NULL, 0), "take(k0 < q; x1[p]; x0[k0, i1])");
    Ex twice = ex_subst(w, row, 0, NULL, NULL, (Ex[]){row, 0}, 1);
    prints(twice, "take(k0 < n; x1[i0]; take(k1 < n; x1[k0]; x0[k1, i1]))");
    assert_int_equal(ex_reads(w, twice, 1), 2);
    ExNode outer, old;
    ex_get(w, twice, &outer);
    ex_get(w, row, &old);
    assert_int_not_equal(outer.dims[0], old.dims[0]);
}

static void test_text(void **state) {
    (void)state;
    Ex a = matmul("n"), b = matmul("n");
    assert_int_not_equal(a, b);
    prints(a, "sum(k0 < n; ; (x0[i0, k0] * x1[k0, i1]))");
    prints(b, "sum(k0 < n; ; (x0[i0, k0] * x1[k0, i1]))");
    prints(pair(EX_ADD, a, b),
           "(sum(k0 < n; ; (x0[i0, k0] * x1[k0, i1])) + sum(k1 < n; ; (x0[i0, k1] * x1[k1, i1])))");
}

static void test_subst(void **state) {
    (void)state;
    Ex a = matmul("n"), r;
    Symbol from[] = {symbol_named(w, "n"), symbol_index(w, 0)};
    Poly to[] = {poly_add(w, P("p"), P("q")), P("n")};
    prints(ex_subst(w, a, 2, from, to, NULL, 0), "sum(k0 < p + q; ; (x0[n, k0] * x1[k0, i1]))");
    r = ex_subst(w, pair(EX_MUL, a, a), 0, NULL, NULL, NULL, 0);
    ExNode m, left, right;
    ex_get(w, r, &m);
    ex_get(w, m.a, &left);
    ex_get(w, m.b, &right);
    ExNode old;
    ex_get(w, a, &old);
    assert_int_not_equal(left.dims[0], right.dims[0]);
    assert_int_not_equal(left.dims[0], old.dims[0]);
    Ex x = at(0, 2, index_of(0), index_of(1));
    r = ex_subst(w, pair(EX_ADD, x, pair(EX_MUL, a, a)), 1, from + 1, to + 1, NULL, 0);
    prints(r, "(x0[n, i1] + (sum(k0 < n; ; (x0[n, k0] * x1[k0, i1])) * sum(k1 < n; ; (x0[n, k1] * "
              "x1[k1, i1]))))");
    Ex square[] = {a};
    r = ex_subst(w, pair(EX_MUL, x, x), 0, NULL, NULL, square, 1);
    ex_get(w, r, &m);
    assert_int_not_equal(m.a, m.b);
    Ex inputs[] = {matmul("m"), 0};
    r = ex_subst(w, a, 0, NULL, NULL, inputs, 2);
    prints(r, "sum(k0 < n; ; (sum(k1 < m; ; (x0[i0, k1] * x1[k1, k0])) * x1[k0, i1]))");
    assert_int_equal(ex_reads(w, r, 1), 2);
    assert_int_equal(ex_reads(w, r, 0), 1);
    assert_int_equal(ex_reads(w, r, 2), 0);
    Ex transposed = at(1, 2, index_of(1), index_of(0));
    Ex both[] = {transposed, at(0, 2, index_of(1), index_of(0))};
    prints(ex_subst(w, at(0, 2, P("a"), P("b")), 0, NULL, NULL, both, 2), "x1[b, a]");
}

static void test_nested_extents(void **state) {
    (void)state;
    Poly k = bound(P("n")), l = bound(poly_add(w, k, poly_int(w, 1)));
    Ex e = sum(k, (Cond){0}, sum(l, (Cond){1, {{poly_sub(w, k, l), false}}}, at(0, 2, k, l)));
    const char *text = "sum(k0 < n; ; sum(k1 < k0 + 1; k0 - k1 >= 0; x0[k0, k1]))";
    prints(e, text);
    Ex copy = ex_subst(w, e, 0, NULL, NULL, NULL, 0);
    assert_int_not_equal(copy, e);
    prints(copy, text);
}

/* x * tanh(x), nested 60 times: 2^60 reads of the input, but only 120 nodes. */
static void test_sharing(void **state) {
    (void)state;
    Ex x = at(0, 1, index_of(0), 0), e = x;
    for (int i = 0; i < 60; i++) e = pair(EX_MUL, e, fn(FN_TANH, e));
    Symbol i0 = symbol_index(w, 0);
    Poly i1 = index_of(1);
    Ex r = ex_subst(w, e, 1, &i0, &i1, NULL, 0);
    assert_int_not_equal(r, e);
    Symbol s1 = symbol_index(w, 1);
    Poly p0 = index_of(0);
    assert_int_equal(ex_subst(w, r, 1, &s1, &p0, NULL, 0), e);
    assert_int_equal(ex_reads(w, e, 0), INT32_MAX);
    Ex y = fn(FN_EXP, x);
    r = ex_subst(w, pair(EX_MUL, x, fn(FN_TANH, x)), 0, NULL, NULL, &y, 1);
    prints(r, "(exp(x0[i0]) * tanh(exp(x0[i0])))");
}

static void round_trip_type(const char *text, const char *expected) {
    Error e = {0};
    Scan s = scan_new("type", text, strlen(text), &e);
    Type t;
    assert_int_equal(type_parse(w, &s, &t), expected != NULL);
    if (!expected) {
        assert_int_equal(e.kind, E_INVALID);
        return;
    }
    Text out = text_new(w->arena);
    TypeId id = type_intern(w, &t);
    type_print(w, type_get(w, id), &out);
    assert_string_equal(out.data, expected);
    t.dim.v[RANK_MAX - 1] = t.dim.n < RANK_MAX ? P("junk") : t.dim.v[RANK_MAX - 1];
    assert_int_equal(type_intern(w, &t), id);
}

static void test_types(void **state) {
    (void)state;
    round_trip_type("F [n,c , 1+2*h]", "F [n, c, 2*h + 1]");
    round_trip_type("I64 []", "I64 []");
    round_trip_type("BF16 ?", "BF16 ?");
    round_trip_type("? ?", "? ?");
    round_trip_type("Q [n]", NULL);
    round_trip_type("F [n", NULL);
    round_trip_type("F", NULL);
    round_trip_type("F [1,2,3,4,5,6,7,8,9]", NULL);
    assert_int_equal(dtype_parse("I8"), DT_INT8);
    assert_int_equal(dtype_bits(DT_FLOAT16), 16);
    assert_int_equal(dtype_class(DT_BOOL), 'B');
    Type t = {.dtype = DT_FLOAT, .known = true, .dim = {2, {P("n"), poly_int(w, 3)}}};
    assert_int_equal(type_count(w, &t), poly_scale(w, P("n"), 3));
    t.dim.n = 0;
    assert_int_equal(type_count(w, &t), poly_int(w, 1));
}

static const AttrDef defs[] = {
    {.name = "axis", .kind = A_INT, .init = "1"},
    {.name = "pads", .kind = A_INTS, .init = "0", .fill = PER_SIDE},
    {.name = "strides", .kind = A_INTS, .init = "1", .fill = PER_SPATIAL},
    {.name = "perm", .kind = A_INTS},
    {.name = "mode", .kind = A_ENUM, .init = "same", .words = "none same other"},
    {.name = "alpha", .kind = A_REAL, .init = "1/6"},
    {.name = "to", .kind = A_DTYPE, .init = "F"},
    {0},
};

static void parse_attr(int i, const char *text, const char *expected, Attr *a) {
    Error e = {0};
    Scan s = scan_new(defs[i].name, text, strlen(text), &e);
    bool ok = attr_parse(w, &s, &defs[i], a) && scan_end(&s);
    assert_int_equal(ok, expected != NULL);
    if (!expected) return;
    Text out = text_new(w->arena);
    attr_print(w, &defs[i], a, &out);
    assert_string_equal(out.data, expected);
}

static void test_attrs(void **state) {
    (void)state;
    Attr a[7], b[7], c;
    parse_attr(0, "n - 1", "n - 1", &a[0]);
    parse_attr(1, "[0, p, 1,1 , 1,1,1,1,1,q]", "[0, p, 1, 1, 1, 1, 1, 1, 1, q]", &a[1]);
    parse_attr(2, "[]", "[]", &a[2]);
    parse_attr(3, "[1,0]", "[1, 0]", &a[3]);
    parse_attr(4, "other", "other", &a[4]);
    parse_attr(5, "-0.1", "-0.1", &a[5]);
    parse_attr(6, "I64", "I64", &a[6]);
    AttrsId id = attrs_intern(w, defs, a);
    attrs_get(w, defs, id, b);
    for (int i = 0; i < 7; i++) assert_true(attr_equal(&defs[i], &a[i], &b[i]));
    assert_int_equal(attrs_intern(w, defs, b), id);
    parse_attr(4, "odd", NULL, &c);
    parse_attr(6, "odd", NULL, &c);
    parse_attr(1, "[1, 2", NULL, &c);
    parse_attr(5, "0.5", "1/2", &c);
    parse_attr(5, "2/6", "1/3", &c);
    assert_false(attr_equal(&defs[5], &a[5], &c));
    parse_attr(5, "beta", "beta", &c);
    parse_attr(5, "-inf", "-inf", &c);
    parse_attr(5, "1/0", NULL, &c);
    assert_int_equal(attrs_count(defs), 7);
    assert_int_equal(attrs_find(defs, "mode"), 4);
    assert_int_equal(attrs_find(defs, "model"), -1);
    assert_int_not_equal(attrs_intern(w, NULL, NULL), 0);
    attrs_get(w, NULL, attrs_intern(w, NULL, NULL), b);
}

static void test_defaults(void **state) {
    (void)state;
    static const char *const expected[] = {"1", "[0, 0, 0, 0]", "[1, 1]", NULL, "same", "1/6", "F"};
    for (int i = 0; i < 7; i++) {
        Attr a;
        assert_int_equal(attr_default(w, &defs[i], 4, &a), expected[i] != NULL);
        if (!expected[i]) continue;
        Text out = text_new(w->arena);
        attr_print(w, &defs[i], &a, &out);
        assert_string_equal(out.data, expected[i]);
    }
}

/* ex_print shows the children child[0] .. child[ex_children - 1] of a node and no others. */
static void test_children(void **state) {
    (void)state;
    const char *const name[EX_CHILDREN] = {"first", "second", "third"};
    for (int kind = EX_NUM; kind <= EX_TAKE; kind++) {
        ExNode n = {.kind = (ExKind)kind, .q = 1, .size = P("n"), .word = FN_EXP};
        if (kind == EX_PARAM) n.word = world_word(w, "alpha");
        if (kind == EX_SUM || kind == EX_MAXIMUM || kind == EX_TAKE)
            n.n = 1, n.dims[0] = bound(P("n"));
        n.cond = (Cond){1, {{P("m"), true}}};
        for (int k = 0; k < EX_CHILDREN; k++) n.child[k] = ex_param(w, name[k]);
        Text t = text_new(w->arena);
        ex_print(w, ex_make(w, &n), &t);
        for (int k = 0; k < EX_CHILDREN; k++)
            if (!strstr(t.data, name[k]) != (k >= ex_children((ExKind)kind)))
                fail_msg("kind %d has %d children: %s", kind, ex_children((ExKind)kind), t.data);
    }
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {TEST(a_zero_keeps_its_sign),
                                       TEST(test_numbers),
                                       TEST(test_children),
                                       TEST(test_conditions),
                                       TEST(test_text),
                                       TEST(test_choice_by_data),
                                       TEST(test_take),
                                       TEST(test_subst),
                                       TEST(test_nested_extents),
                                       TEST(test_sharing),
                                       TEST(test_types),
                                       TEST(test_attrs),
                                       TEST(test_defaults)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
