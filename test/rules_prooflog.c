/* rules_prooflog.c -- tests proof logs: they are printed and read back, the numbers by which they
   name values do not depend on what else the World contains, and damaged logs are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "rules/prooflog.h"
#include "test/shared/fixture.h"
#include "graphs/world.h"
#include <string.h>

static const char sample[] =
    "isomer-proof 2\nmodel 0123456789abcdef0123456789abcdef\nrules "
    "ffffffffffffffffffffffffffffffff\ngrowth 4096\nseed 7\nfold-limit 64\nallow \"drops\"\n"
    "domain \"com.microsoft\"\ndim \"a \\\"b\\\"=2\"\ndim \"n=3\"\ninput-shape \"x:2,3\"\n"
    "input-returned\n"
    "round\napply add-zero 00112233445566aa lengths 2 roots 7 inputs 3\napply mul-one "
    "00112233445566bb lengths roots 9 inputs 3 4\n"
    "round\napply conv-merge 00112233445566cc lengths 2 2 roots 12 14 inputs 1 2 5\nend\n";

static void printing_reads_back(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    Error e = {0};
    ProofLog l;
    assert_true(prooflog_parse(a, "log", sample, strlen(sample), &l, &e));
    assert_int_equal(l.n, 2);
    assert_int_equal(l.seed, 7);
    assert_int_equal(l.fold_limit, 64);
    assert_string_equal(l.allow, "drops");
    assert_int_equal(l.domain.n, 1);
    assert_int_equal(l.dim.n, 2);
    assert_string_equal(l.dim.v[0], "a \"b\"=2");
    assert_string_equal(l.input_shape.v[0], "x:2,3");
    assert_true(l.input_returned);
    assert_int_equal(l.v[0].n, 2);
    assert_int_equal(l.v[1].v[0].nroot, 2);
    assert_int_equal(l.v[1].v[0].root[1], 14);
    assert_int_equal(l.v[0].v[1].nlength, 0);
    Text t = text_new(a);
    prooflog_print(&l, &t);
    assert_string_equal(t.data, sample);
    arena_free(a);
}

/* Each truncated sample, and samples with an error inside, are refused with the line of the
   error. */
static void damaged_texts_are_refused(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    for (size_t n = 0; n + 2 < strlen(sample); n += 3) {
        Error e = {0};
        ProofLog l;
        assert_false(prooflog_parse(a, "log", sample, n, &l, &e));
        assert_int_equal(e.kind, E_INVALID);
        assert_true(e.line > 0);
    }
    static const char *const wrong[][3] = {
        {"isomer-proof 2", "isomer-proof 3", "a later version"},
        {"isomer-proof 2", "isomer", "not a proof log"},
        {"isomer-proof 2", "isomer-proof 1", "an earlier version"},
        {"roots 7", "roots 0", "1 or more"},
        {"lengths 2 roots", "lengths -2 roots", "length"},
        {"00112233445566aa", "0011", "identifier"},
        {"growth 4096", "growth", "growth BYTES"},
        {"growth 4096", "growth -5", "growth BYTES, 0 or more"},
        {"seed 7\n", "", "seed NUMBER"},
        {"seed 7", "seed -7", "seed NUMBER"},
        {"fold-limit 64", "fold-limit -1", "fold-limit BYTES"},
        {"allow \"drops\"", "allow drops", "allow \"TEXT\""},
        {"dim \"n=3\"", "dim", "dim \"TEXT\""},
        {"end\n", "end\nmore\n", "after end"},
        {"round\napply add", "apply add", "expected round"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        Error e = {0};
        ProofLog l;
        const char *at = strstr(sample, wrong[k][0]);
        char *text = arena_format(a, "%.*s%s%s", (int)(at - sample), sample, wrong[k][1],
                                  at + strlen(wrong[k][0]));
        assert_false(prooflog_parse(a, "log", text, strlen(text), &l, &e));
        if (!strstr(e.reason, wrong[k][2])) fail_msg("%s: %s", wrong[k][1], e.reason);
    }
    arena_free(a);
}

static void numbers_are_those_of_the_graph_alone(void **state) {
    (void)state;
    static const char other[] = "graph h %z : F [9]\nbody\n %a = neg %z\n %b = abs %a\n out %b\n",
                      text[] = "graph g %x : F [4, 2]   %y : F [4, 2]\nbody\n %s = add %x %y\n %p "
                               "%q = split %s axis=0 sizes=[1, 3]\n %r = neg %q\n out %r %p\n";
    char *first = NULL;
    Arena *a = arena_new(NULL, 0);
    for (int round = 0; round < 2; round++) {
        World *w = graph_world_new(NULL, 0);
        if (round) graph_of(w, other);
        Graph g = graph_of(w, text);
        Numbering n = numbering_new(w, a, &g);
        Text t = text_new(a);
        for (uint32_t k = 1; k <= n.count; k++) {
            Value v = numbering_value(&n, k);
            assert_int_equal(numbering_of(&n, v), k);
            text_add(&t, "%s.%d ", node_get(w, value_node(w, v)).op->name, value_port(w, v));
        }
        assert_int_equal(numbering_value(&n, n.count + 1), 0);
        if (round) assert_string_equal(t.data, first);
        first = t.data;
        world_free(w);
    }
    assert_string_equal(first, "input.0 input.0 add.0 split.0 split.1 neg.0 ");
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printing_reads_back),
        cmocka_unit_test(damaged_texts_are_refused),
        cmocka_unit_test(numbers_are_those_of_the_graph_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
