/* graphs_text.c -- tests the text form of graphs: every case prints as it stands, in a new World
   and in one full of other nodes, and errors in texts are reported at their place. */
#include "graphs/graph_text.h"
#include "ops/base/file.h"
#include "ops/base/random.h"
#include "ops/core/element.h"
#include "graphs/world.h"
#include <setjmp.h>
#include <dirent.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static bool parse(World *w, const char *name, const char *text, Graph *g, Error *e) {
    Scan s = scan_new(name, text, strlen(text), e);
    return graph_parse(w, w->arena, &s, NULL, g, NULL, e);
}

static const char *printed(World *w, const char *name, const Graph *g) {
    Text t = text_new(w->arena);
    graph_print(w, name, g, &t);
    return t.data;
}

static void check_case(World *w, const char *file) {
    char path[300], *text, name[100];
    size_t n;
    Error e = {0};
    Graph g;
    snprintf(path, sizeof path, "test/cases/%s", file);
    snprintf(name, sizeof name, "%.*s", (int)(strlen(file) - 6), file);
    assert_true(file_read(w->arena, path, &text, &n, &e));
    Scan s = scan_new(file, text, n, &e);
    bool done = graph_parse(w, w->arena, &s, NULL, &g, NULL, &e);
    if (!done) print_message("%s:%d:%d %s\n", e.place, e.line, e.column, e.reason);
    assert_true(done);
    assert_string_equal(printed(w, name, &g), arena_string(w->arena, text, n));
}

static void cases_print_as_they_stand(void **state) {
    (void)state;
    DIR *d = opendir("test/cases");
    int n = 0;
    World *full = graph_world_new(NULL, 0);
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d));) {
        size_t length = strlen(f->d_name);
        if (length < 7 || strcmp(f->d_name + length - 6, ".graph")) continue;
        World *w = graph_world_new(NULL, 0);
        check_case(w, f->d_name);
        check_case(full, f->d_name);
        check_case(full, f->d_name);
        world_free(w);
        n++;
    }
    closedir(d);
    world_free(full);
    assert_true(n >= 3);
}

/* Random chains over earlier values are printed and read again. */
static void random_graphs_come_back(void **state) {
    (void)state;
    static const char *const unary[] = {"relu", "sigmoid", "exp", "neg"}, *const binary[] = {
                                                                              "add", "mul", "max"};
    srand(1);
    for (int round = 0; round < 200; round++) {
        World *w = graph_world_new(NULL, 0), *v = graph_world_new(NULL, 0);
        Type t = {
            .dtype = DT_FLOAT, .known = true, .dim = {2, {poly_named(w, "n"), poly_int(w, 3)}}};
        Value value[30],
            in[2] = {value[0] = graph_input(w, "x", &t), value[1] = graph_input(w, "y", &t)};
        int n = 2;
        while (n < 20) {
            bool one = rand() % 2;
            Value a[2] = {value[rand() % n], value[rand() % n]};
            value[n] = node_make(w, op_find(one ? unary[rand() % 4] : binary[rand() % 3]), NULL,
                                 one ? 1 : 2, a, 1, NULL);
            assert_int_not_equal(value[n++], 0);
        }
        Value out[3] = {value[19], value[rand() % 20], value[rand() % 20]};
        Graph g = {2, 3, in, out}, again;
        Error e = {0};
        const char *s = printed(w, "g", &g);
        assert_true(parse(v, "g", s, &again, &e));
        assert_string_equal(printed(v, "g", &again), s);
        assert_true(parse(w, "g", s, &again, &e));
        assert_memory_equal(again.out, g.out, sizeof out); /* equal nodes are one node */
        world_free(w);
        world_free(v);
    }
}

static void defaults_and_trailing_blanks_are_left_out(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Error e = {0};
    Graph a, b;
    assert_true(parse(w, "a",
                      "graph a %x : F [1,c,5,5] %w : F [2,c,3,3]\nbody # comment\n %y = conv %x %w "
                      "_ strides=[1,1] group=1\n out %y",
                      &a, &e));
    assert_true(parse(
        w, "b",
        "graph b\n %x : F [1, c, 5, 5]\n %w : F [2, c, 3, 3]\nbody\n\n %z = conv %x %w\n out %z\n",
        &b, &e));
    assert_int_equal(a.out[0], b.out[0]);
    assert_string_equal(printed(w, "c", &a), "graph c\n  %x : F [1, c, 5, 5]\n  %w : F [2, c, 3, "
                                             "3]\nbody\n  %1 = conv %x %w\n  out %1\n");
    world_free(w);
}

static void wrong_texts_are_refused_at_their_place(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int line, column;
        const char *reason;
    } wrong[] = {
        {"graph g\nbody\n %y = relu %x\n out %y\n", 3, 2, "unknown value %x"},
        {"graph g\n %x : F [2]\nbody\n %y = rely %x\n out %y\n", 4, 7,
         "unknown operator \"rely\"; did you mean \"relu\"?"},
        {"graph g\n %x : F [2]\nbody\n [x] %y = relu %x\n out %y\n", 4, 2,
         "a condition stands outside an operator's expansion"},
        {"graph g\n %x : F [2]\nbody\n [x %y = relu %x\n out %y\n", 4, 17, "expected ]"},
        {"graph g\n %x : F [2]\nbody\n %y = relu %x up=1\n out %y\n", 4, 15,
         "relu has no attribute up; it has none"},
        {"graph g\n %x : F [2, 3]\nbody\n %y = depthtospace %x size=1\n out %y\n", 4, 23,
         "no attribute size; it has block, order"},
        {"graph g\n %x : F [2, 4, 3, 3]\nbody\n %y = depthtospace %x block=2 order=rcd\n out %y\n",
         4, 2, "order=rcd: expected one of: dcr crd"},
        {"graph g\n %x : F [2]\nbody\n %y = softmax %x axis=0 axis=1\n out %y\n", 4, 25, "twice"},
        {"graph g\n %x : F [2]\nbody\n %y = relu %x %x\n out %y\n", 4, 2, "too many inputs"},
        {"graph g\n %x : F [2]\nbody\n %y = add %x\n out %y\n", 4, 2, "too few inputs"},
        {"graph g\n %x : F [2]\nbody\n %y = add _ %x\n out %y\n", 4, 2, "is missing"},
        {"graph g\n %x : F [2]\nbody\n %x = relu %x\n out %x\n", 4, 2, "already defined"},
        {"graph g\n %x : F [2] %x : F [3]\nbody\n out %x\n", 2, 13, "already defined"},
        {"graph g\n %x : F [2]\nbody\n %y = relu %x\n", 5, 1, "expected a line out"},
        {"graph g\nbody\n %y = constant F [2] {1}\n out %y\n", 3, 16, "1 elements are given"},
        {"graph g\nbody\n %y = constant F [n] {1}\n out %y\n", 3, 16, "must be numbers"},
        {"graph g\nbody\n %y = constant F [1] hex\"00\"\n out %y\n", 3, 16, "1 bytes are given"},
        {"graph g\nbody\n %y = constant I64 [1] seed(1)\n out %y\n", 3, 16, "for float types only"},
        {"graph g\n %x : F [2]\nbody\n %a %b = relu %x\n out %a\n", 4, 2, "1 results"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        World *w = graph_world_new(NULL, 0);
        Error e = {0};
        Graph g;
        assert_false(parse(w, "t", wrong[k].text, &g, &e));
        if (!strstr(e.reason, wrong[k].reason) || e.line != wrong[k].line ||
            e.column != wrong[k].column)
            print_message("case %zu: %d:%d %s\n", k, e.line, e.column, e.reason);
        assert_non_null(strstr(e.reason, wrong[k].reason));
        assert_int_equal(e.line, wrong[k].line);
        assert_int_equal(e.column, wrong[k].column);
        assert_int_equal(e.kind, E_INVALID);
        world_free(w);
    }
}

static void elements_of_small_floats_round_to_nearest_even(void **state) {
    (void)state;
    static const struct {
        double x;
        uint16_t half, brain;
    } known[] = {
        {1, 0x3c00, 0x3f80},           {-2, 0xc000, 0xc000},
        {65504, 0x7bff, 0x4780},       {65520, 0x7c00, 0x4780},
        {0x1p-24, 0x0001, 0x3380},     {0x1p-25, 0, 0x3300},
        {1 + 0x1p-11, 0x3c00, 0x3f80}, {1 + 0x1.8p-10, 0x3c02, 0x3f80},
        {1 + 0x1p-8, 0x3c04, 0x3f80},  {1 + 0x1.8p-7, 0x3c0c, 0x3f82},
        {-0.0, 0x8000, 0x8000},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        uint16_t h, b;
        element_set_real(DT_FLOAT16, &h, 0, known[k].x);
        element_set_real(DT_BFLOAT16, &b, 0, known[k].x);
        assert_int_equal(h, known[k].half);
        assert_int_equal(b, known[k].brain);
    }
    for (unsigned k = 0; k < 0x10000; k++) {
        uint16_t h = (uint16_t)k, b;
        if ((h & 0x7c00) == 0x7c00 && (h & 0x3ff)) continue; /* NaN */
        element_set_real(DT_FLOAT16, &b, 0, element_real(DT_FLOAT16, &h, 0));
        assert_int_equal(h, b);
    }
    int8_t i;
    element_set_real(DT_INT8, &i, 0, 1000);
    assert_int_equal(i, 127);
    uint8_t u;
    element_set_real(DT_UINT8, &u, 0, -3.5);
    assert_int_equal(u, 0);
}

/* Elements of a mapped file may lie at unaligned addresses; the undefined-behaviour sanitizer
   checks that reading them is allowed. */
static void elements_are_read_where_they_stand(void **state) {
    (void)state;
    static const DType types[] = {DT_FLOAT, DT_DOUBLE, DT_FLOAT16, DT_BFLOAT16, DT_INT64,
                                  DT_INT32, DT_INT16,  DT_UINT64,  DT_UINT32,   DT_UINT16};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        uint64_t stored[2];
        char file[32];
        for (int j = 0; j < 2; j++) element_set_real(types[k], stored, j, 3 + j);
        for (size_t shift = 0; shift < 8; shift++) {
            memcpy(file + shift, stored, sizeof stored);
            for (int j = 0; j < 2; j++) {
                assert_true(element_real(types[k], file + shift, j) == 3 + j);
                assert_int_equal(element_integer(types[k], file + shift, j), 3 + j);
            }
        }
    }
}

/* Draws one word of a list; *length is its length. */
static const char *drawn(Random *r, const char *words, int *length) {
    int n = 0;
    const char *at = words;
    for (const char *p = words; *p;) {
        size_t word = strcspn(p, " ");
        if (random_below(r, (uint64_t)++n) == 0) at = p, *length = (int)word;
        p += word + strspn(p + word, " ");
    }
    return at;
}

static void add_attr(Text *t, Random *r, const AttrDef *def) {
    int length = 1;
    const char *from = def->draw              ? def->draw
                       : def->kind == A_ENUM  ? def->words
                       : def->kind == A_DTYPE ? "F I64 F16"
                                              : "0 1 2 -1",
               *word = drawn(r, from, &length);
    if (def->kind == A_BLOB || (def->init && random_below(r, 2))) return;
    text_add(t, def->kind == A_INTS ? " %s=[" : " %s=", def->name);
    text_add(t, "%.*s", length, word);
    for (uint64_t n = def->kind == A_INTS ? random_below(r, 4) : 0; n > 0; n--)
        text_add(t, ", %.*s", length, drawn(r, from, &length));
    if (def->kind == A_INTS) text_add(t, "]");
}

/* Draws nodes of every operator with random attributes and inputs. Each node that shape() accepts
   is printed, read in another World and printed again. */
static void nodes_of_every_operator_come_back(void **state) {
    (void)state;
    static const char inputs[] = "graph g\n  %a : F [2, 4, 6, 6]\n  %b : F [4, 4, 3, 3]\n  %c : F "
                                 "[4]\n  %d : I64 [2, 4]\n  %e : F [n, 4, "
                                 "4]\n  %f : F [4, 4]\n  %g : B [2, 4]\nbody\n";
    int covered = 0, made = 0;
    for (int k = 0; k < op_count(); k++) {
        bool any = false;
        const Op *op = op_at(k);
        Random r = {(uint64_t)k, 0};
        for (int round = 0;
             round < 200 && strcmp(op->name, "input") && strcmp(op->name, "constant"); round++) {
            World *w = graph_world_new(NULL, 0), *v = graph_world_new(NULL, 0);
            Text t = text_new(w->arena);
            Error e = {0};
            Graph g, again;
            text_add(&t, "%s  %%y = %s", inputs, op->name);
            for (int n = op_input_count(op) - (int)random_below(&r, 2), j = 0; j < n; j++)
                text_add(&t, " %%%c", "abcdefg"[random_below(&r, 7)]);
            for (int j = 0; j < attrs_count(op->attrs); j++) add_attr(&t, &r, &op->attrs[j]);
            text_add(&t, "\n  out %%y\n");
            if (parse(w, "drawn", t.data, &g, &e)) {
                const char *s = printed(w, "g", &g);
                assert_true(parse(v, "printed", s, &again, &e));
                assert_string_equal(printed(v, "g", &again), s);
                any = true;
                made++;
            } else assert_int_equal(e.kind, E_INVALID);
            world_free(w);
            world_free(v);
        }
        covered += any;
    }
    print_message("%d nodes of %d operators of %d\n", made, covered, op_count());
    assert_true(covered * 3 > op_count() * 2);
}

/* A damaged text gives an error or a graph, never anything else. The memory limit makes absurd
   sizes an error, too. */
static void try_text(const char *text, size_t n, int *good) {
    Escape escape = {.error = {.kind = E_NONE}};
    Arena *a = arena_new(NULL, 0);
    World *volatile w = NULL;
    if (!setjmp(escape.here)) {
        w = graph_world_new(&escape, 8 << 20);
        Error e = {0};
        Graph g;
        Scan s = scan_new("damaged", text, n, &e);
        bool done = graph_parse(w, a, &s, NULL, &g, NULL, &e);
        assert_true(done || e.kind == E_INVALID);
        Text t = text_new(a);
        if (done) graph_print(w, "again", &g, &t);
        *good += done;
    }
    world_free(w);
    arena_free(a);
}

static void damaged_texts_are_errors(void **state) {
    (void)state;
    static const char *const files[] = {"test/cases/conv.graph", "test/cases/constants.graph",
                                        "test/cases/names.graph"};
    static const char signs[] = "%={}[]()+-*/,.:_#\"\\ \n019aFx";
    int good = 0, tried = 0;
    Random r = {5, 0};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++)
        for (int round = 0; round < 500; round++, tried++) {
            Arena *a = arena_new(NULL, 0);
            char *text;
            size_t n;
            Error e = {0};
            assert_true(file_read(a, files[f], &text, &n, &e));
            for (uint64_t k = 1 + random_below(&r, 3); k > 0; k--) {
                size_t at = (size_t)random_below(&r, n), length = (size_t)random_below(&r, 8);
                if (random_below(&r, 2)) text[at] = signs[random_below(&r, sizeof signs - 1)];
                else if (at + length < n)
                    memmove(text + at, text + at + length, n - at - length), n -= length;
            }
            try_text(text, n, &good);
            arena_free(a);
        }
    assert_true(good > 0 && good < tried);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_print_as_they_stand),
        cmocka_unit_test(random_graphs_come_back),
        cmocka_unit_test(defaults_and_trailing_blanks_are_left_out),
        cmocka_unit_test(wrong_texts_are_refused_at_their_place),
        cmocka_unit_test(nodes_of_every_operator_come_back),
        cmocka_unit_test(damaged_texts_are_errors),
        cmocka_unit_test(elements_of_small_floats_round_to_nearest_even),
        cmocka_unit_test(elements_are_read_where_they_stand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
