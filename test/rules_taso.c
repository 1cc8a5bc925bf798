/* rules_taso.c -- tests reading TASO's substitutions: the shipped file, each rule of which is tried
   with numbers, single operators, and broken files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "graphs/onnx/file/wire.h"
#include "ops/base/file.h"
#include "ops/base/random.h"
#include "rules/taso.h"
#include "rules/taso_inner.h"
#include "test/shared/rule_trial.h"
#include <string.h>

static const char shipped[] = "test/cases/taso/graph_subst.pb";
enum { RULES = 133, DRAWS = 24, SEARCH = 3000 };

/* ---- the shipped file */

static bool is_wrong(int number) {
    return (number >= 98 && number <= 100) || number == 105 || (number >= 125 && number <= 131);
}

static void test_shipped_rules(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    RuleSet set = {.arena = a};
    TasoRefusals refused = {0};
    Error e = {0};
    if (!rules_load(a, shipped, &set, &refused, &e)) fail_msg("%s", e.reason);
    assert_int_equal(set.n, RULES);
    assert_int_equal(refused.n, 0);
    for (int k = 0; k < set.n; k++) {
        int length[RULE_BLOCKS], done;
        assert_string_equal(set.v[k].name, arena_format(a, "taso-%d", k));
        rule_lengths_first(&set.v[k], length);
        do {
            Trial t;
            if (!trial_open(&t, &set.v[k], length, TRIAL_BOTH, (uint64_t)k)) fail_msg("%s", t.why);
            TrialResult r = trial_rule(&t, is_wrong(k) ? SEARCH : DRAWS, &done);
            if (r != (is_wrong(k) ? TRIAL_DIFFERENT : TRIAL_SAME))
                fail_msg("taso-%d: %d after %d draws: %s", k, (int)r, done, t.why);
            trial_close(&t);
        } while (rule_lengths_next(&set.v[k], length));
    }
    arena_free(a);
}

/* ---- files of one rule, written here */

typedef struct Made {
    Arena *arena;
    Text side[2], out, file;
} Made;

static Made made_new(void) {
    Arena *a = arena_new(NULL, 0);
    return (Made){a, {text_new(a), text_new(a)}, text_new(a), text_new(a)};
}

/* Adds an operator to a side. input: pairs of operator and port, ended by {0, -1}; parameter: pairs
   of key and value, ended by -1. */
static void made_op(Made *m, int side, TasoKind kind, const int *input, const int *parameter) {
    Text op = text_new(m->arena);
    wire_put_int(&op, 1, (uint64_t)kind);
    for (; input[1] >= 0; input += 2) {
        Text t = text_new(m->arena);
        wire_put_int(&t, 1, (uint64_t)(int64_t)input[0]);
        wire_put_int(&t, 2, (uint64_t)input[1]);
        wire_put_bytes(&op, 2, t.data, t.size);
    }
    for (; *parameter >= 0; parameter += 2) {
        Text t = text_new(m->arena);
        wire_put_int(&t, 1, (uint64_t)parameter[0]);
        wire_put_int(&t, 2, (uint64_t)parameter[1]);
        wire_put_bytes(&op, 3, t.data, t.size);
    }
    wire_put_bytes(&m->side[side], (uint32_t)(1 + side), op.data, op.size);
}
static void made_out(Made *m, int from, int to, int from_port, int to_port) {
    const int v[] = {from, to, from_port, to_port};
    Text t = text_new(m->arena);
    for (int k = 0; k < 4; k++) wire_put_int(&t, (uint32_t)(k + 1), (uint64_t)v[k]);
    wire_put_bytes(&m->out, 3, t.data, t.size);
}
static void made_rule(Made *m) {
    Text rule = text_new(m->arena);
    for (int s = 0; s < 2; s++)
        if (m->side[s].size) text_bytes(&rule, m->side[s].data, m->side[s].size);
    if (m->out.size) text_bytes(&rule, m->out.data, m->out.size);
    wire_put_bytes(&m->file, 1, rule.data, rule.size);
}

/* The text of the only rule, the reason why it was refused, or the error. */
static const char *read_back(Made *m) {
    RuleSet set = {.arena = m->arena};
    TasoRefusals refused = {0};
    Error e = {0};
    Text t = text_new(m->arena);
    if (!taso_parse(m->arena, "made", m->file.data, m->file.size, &set, &refused, &e))
        return arena_format(m->arena, "%s", e.reason);
    if (refused.n)
        return arena_format(m->arena, "refused %d: %s", refused.v[0].number, refused.v[0].reason);
    rule_print(&set.v[0], &t);
    return t.data;
}

enum { END = -1 };
static const int none[] = {END}, no_input[] = {0, END}, x7[] = {-7, 0, 0, END},
                 x1[] = {-1, 0, 0, END}, first[] = {0, 0, 0, END}, ports[] = {0, 0, 0, 1, 0, END},
                 x7_x8[] = {-7, 0, -8, 0, 0, END}, x1_x20[] = {-1, 0, -20, 0, 0, END},
                 second[] = {-1, 0, 1, 0, 0, END};

static void test_strides_and_padding(void **state) {
    (void)state;
    Made m = made_new();
    const int conv[] = {TASO_PM_KERNEL_H,
                        3,
                        TASO_PM_KERNEL_W,
                        2,
                        TASO_PM_STRIDE_H,
                        2,
                        TASO_PM_STRIDE_W,
                        1,
                        TASO_PM_PAD,
                        0,
                        TASO_PM_ACTI,
                        3,
                        END};
    const int pool[] = {TASO_PM_KERNEL_H,
                        2,
                        TASO_PM_KERNEL_W,
                        3,
                        TASO_PM_STRIDE_H,
                        2,
                        TASO_PM_STRIDE_W,
                        3,
                        TASO_PM_PAD,
                        1,
                        END};
    made_op(&m, 0, TASO_CONV2D, x7_x8, conv);
    made_op(&m, 0, TASO_POOL2D_AVG, first, pool);
    made_op(&m, 1, TASO_CONV2D, x7_x8, conv);
    made_op(&m, 1, TASO_POOL2D_AVG, first, pool);
    made_out(&m, 1, 1, 0, 0);
    made_rule(&m);
    const char *text = read_back(&m);
    assert_non_null(strstr(text, "%x8 : F [G0*q0, c8, 3, 2]"));
    assert_non_null(strstr(text, "%l0c = conv %x7 %x8 group=G0 strides=[2, 1] pads=[floor("));
    assert_non_null(strstr(text, ", 0, ")); /* the one column of padding is at the end */
    assert_non_null(strstr(text, "%l0 = tanh %l0c\n"));
    assert_non_null(
        strstr(text, "%l1 = averagepool %l0 kernel=[2, 3] strides=[2, 3] count_pads=yes\n"));
    arena_free(m.arena);
}

static void test_constants_transpose_and_scalar(void **state) {
    (void)state;
    Made m = made_new();
    const int perm[] = {TASO_PM_NUMDIM, 2, TASO_PM_PERM, 2, END};
    made_op(&m, 0, TASO_TRANSPOSE, x1, perm);
    made_op(&m, 0, TASO_CONSTANT_IMM, no_input, none);
    made_op(&m, 0, TASO_MATMUL, (const int[]){0, 0, 1, 0, 0, END}, none);
    made_op(&m, 0, TASO_MUL, (const int[]){2, 0, -20, 0, 0, END}, none);
    made_op(&m, 1, TASO_MUL, x1_x20, none);
    made_op(&m, 1, TASO_TRANSPOSE, first, perm);
    made_out(&m, 3, 1, 0, 0);
    made_rule(&m);
    const char *text = read_back(&m);
    assert_non_null(strstr(text, "%l0 = transpose %x1 perm=[1, 0]\n"));
    assert_non_null(strstr(text, "%l1 = band n=n1\n"));
    assert_non_null(strstr(text, "%x20 : F []"));
    arena_free(m.arena);
}

static void test_a_split_is_found_from_the_outputs(void **state) {
    (void)state;
    Made m = made_new();
    const int rows[] = {TASO_PM_AXIS, 0, TASO_PM_NUMDIM, 4, END},
              cut[] = {TASO_PM_AXIS, 0, TASO_PM_NUM_OUTPUTS, 2, END};
    made_op(&m, 0, TASO_RELU, x7, none);
    made_op(&m, 0, TASO_RELU, (const int[]){-8, 0, 0, END}, none);
    made_op(&m, 1, TASO_CONCAT, x7_x8, rows);
    made_op(&m, 1, TASO_RELU, first, none);
    made_op(&m, 1, TASO_SPLIT, (const int[]){1, 0, 0, END}, cut);
    made_out(&m, 0, 2, 0, 0);
    made_out(&m, 1, 2, 0, 1);
    made_rule(&m);
    const char *text = read_back(&m);
    assert_non_null(strstr(text, "%r2a %r2b = split %r1 axis=0 sizes=[n7, n8]\n  out %r2a %r2b\n"));
    arena_free(m.arena);
}

static void test_refusals(void **state) {
    (void)state;
    Made m = made_new();
    made_op(&m, 0, TASO_BATCHNORM, x7, none);
    made_op(&m, 1, TASO_RELU, x7, none);
    made_out(&m, 0, 0, 0, 0);
    made_rule(&m);
    assert_string_equal(read_back(&m),
                        "refused 0: BATCHNORM has no counterpart among the operators");
    Made n = made_new();
    made_op(&n, 0, TASO_RELU, x7, none);
    made_op(&n, 1, TASO_EW_ADD, x7_x8, none);
    made_out(&n, 0, 0, 0, 0);
    made_rule(&n);
    assert_string_equal(
        read_back(&n),
        "refused 0: the right side reads a variable that the left side does not have");
    Made o = made_new();
    made_op(&o, 0, TASO_EW_ADD, x7, none);
    made_op(&o, 1, TASO_RELU, x7, none);
    made_out(&o, 0, 0, 0, 0);
    made_rule(&o);
    assert_string_equal(read_back(&o), "refused 0: EW_ADD with 1 inputs");
    arena_free(m.arena);
    arena_free(n.arena);
    arena_free(o.arena);
}

static void test_references_are_checked(void **state) {
    (void)state;
    Made m = made_new();
    made_op(&m, 0, TASO_MATMUL, second, none); /* there is no operator before it */
    made_op(&m, 1, TASO_RELU, x1, none);
    made_out(&m, 0, 0, 0, 0);
    made_rule(&m);
    assert_non_null(
        strstr(read_back(&m), "an input that is not the result of an earlier operator"));
    assert_memory_equal(read_back(&m), "byte ", 5);
    Made n = made_new();
    made_op(&n, 0, TASO_RELU, x7, none);
    made_op(&n, 1, TASO_RELU, x7, none);
    made_out(&n, 0, 3, 0, 0);
    made_rule(&n);
    assert_non_null(strstr(read_back(&n), "an output that is not the result of an operator"));
    Made o = made_new();
    made_op(&o, 0, TASO_RELU, ports, none);
    made_op(&o, 1, TASO_RELU, x7, none);
    made_out(&o, 0, 0, 0, 0);
    made_rule(&o);
    assert_non_null(strstr(read_back(&o), "byte "));
    arena_free(m.arena);
    arena_free(n.arena);
    arena_free(o.arena);
}

/* ---- broken files */

static void test_broken_files(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    char *data;
    size_t n;
    Error e = {0};
    Random random = {3, 0};
    assert_true(file_read(a, shipped, &data, &n, &e));
    assert_true(taso_is(data, n));
    assert_false(taso_is("rule x\n", 7));
    assert_false(taso_is("rule x\1\n", 8)); /* a text with a wrong byte */
    assert_false(taso_is("\nrule x\n", 8));
    for (int round = 0; round < 300; round++) {
        RuleSet set = {.arena = a};
        TasoRefusals refused = {0};
        Error why = {0};
        ArenaMark mark = arena_mark(a);
        size_t size =
            round % 2 ? 1 + random_below(&random, n - 1) : 1 + random_below(&random, 2000);
        char *copy = arena_copy(a, data, size);
        if (round % 3) copy[random_below(&random, size)] = (char)random_below(&random, 256);
        if (!taso_parse(a, "broken", copy, size, &set, &refused, &why)) {
            assert_int_equal(why.kind, E_INVALID);
            assert_memory_equal(why.reason, "byte ", 5);
        }
        arena_reset(a, mark);
    }
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shipped_rules),
        cmocka_unit_test(test_strides_and_padding),
        cmocka_unit_test(test_constants_transpose_and_scalar),
        cmocka_unit_test(test_a_split_is_found_from_the_outputs),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_references_are_checked),
        cmocka_unit_test(test_broken_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
