/* ops_base.c -- tests arenas, interning, random numbers and scanning. Each allocation of a small
   run fails once, and freeing returns the count of bytes to its earlier value. */
#include "ops/base/heap.h"
#include "ops/base/intern.h"
#include "ops/base/random.h"
#include "ops/base/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- arenas */

static void marks_take_back_what_followed(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    ArenaMark empty = arena_mark(a);
    assert_int_equal(arena_bytes(a), 0);
    char *kept = arena_string(a, "kept by every reset", 4);
    for (int round = 0; round < 20; round++) {
        ArenaMark mark = arena_mark(a);
        size_t before = arena_bytes(a);
        const char *next = arena_alloc(a, 1);
        arena_reset(a, mark);
        assert_ptr_equal(arena_alloc(a, 1), next); /* the memory is reused */
        for (size_t n = 0; n < 3000; n += 7) {
            unsigned char *p = arena_alloc(a, n);
            assert_int_equal((uintptr_t)p % 16, 0);
            for (size_t i = 0; i < n; i++) assert_int_equal(p[i], 0);
            memset(p, 0xff, n);
        }
        arena_alloc(a, 5000000);
        assert_true(arena_bytes(a) >= 5600000);
        arena_reset(a, mark);
        assert_int_equal(arena_bytes(a), before);
        assert_string_equal(kept, "kept");
    }
    assert_true(mem_bytes() < 9000000); /* only one of the 20 rounds is kept */
    assert_string_equal(arena_format(a, "%d-%s", 42, "abc"), "42-abc");
    assert_memory_equal(arena_copy(a, "\1\0\2", 3), "\1\0\2", 3);
    assert_ptr_not_equal(arena_alloc(a, 0), arena_alloc(a, 0));
    arena_reset(a, empty);
    assert_int_equal(arena_bytes(a), 0);
    arena_free(a);
    arena_free(NULL);
}

static void the_limit_escapes(void **state) {
    (void)state;
    Escape escape = {.error = {0}};
    Arena *volatile a = arena_new(&escape, 100000);
    assert_ptr_equal(arena_escape(a), &escape);
    volatile size_t given = 0;
    if (setjmp(escape.here) == 0)
        for (;; given += 1000) arena_alloc(a, 1000);
    assert_int_equal(escape.error.kind, E_LIMIT);
    assert_true(given > 80000 && given <= 100000);
    escape.error = (Error){0};
    if (setjmp(escape.here) == 0) arena_alloc(a, SIZE_MAX - 8);
    assert_int_equal(escape.error.kind, E_MEMORY);
    arena_free(a);
}

static bool build_something(Escape *escape) {
    Arena *volatile a = NULL;
    Intern *volatile t = NULL;
    volatile bool done = false;
    if (setjmp(escape->here) == 0) {
        a = arena_new(escape, 0);
        t = intern_new(a);
        for (uint32_t i = 0; i < 3000; i++) intern_put(t, &i, sizeof i);
        done = true;
    } else if (t) { /* earlier entries are unharmed */
        for (uint32_t i = 0; i < intern_count(t); i++)
            assert_int_equal(intern_find(t, &i, sizeof i), i + 1);
    }
    intern_free(t);
    arena_free(a);
    return done;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    int n = 1;
    for (;; n++) {
        Escape escape = {.error = {0}};
        mem_fail_at(n);
        bool done = build_something(&escape);
        mem_fail_at(0);
        if (done) break;
        assert_int_equal(escape.error.kind, E_MEMORY);
    }
    assert_true(n > 20);
}

/* ---- interning */

static uint32_t put_number(Intern *t, uint64_t seed, uint64_t i) {
    uint64_t words[4];
    for (uint64_t k = 0; k < 4; k++) words[k] = random_at(seed, i * 4 + k);
    return intern_put(t, words, words[0] % 33);
}

static void equal_bytes_have_equal_numbers(void **state) {
    (void)state;
    enum { COUNT = 200000 };
    Arena *a = arena_new(NULL, 0);
    Intern *t = intern_new(a);
    uint32_t *id = ARENA_NEW(a, uint32_t, COUNT);
    const void **at = ARENA_NEW(a, const void *, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t before = intern_count(t);
        id[i] = put_number(t, 5, i);
        assert_true(id[i] >= 1 && id[i] <= before + 1);
        at[i] = intern_get(t, id[i], NULL);
        assert_int_equal((uintptr_t)at[i] % 8, 0);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t words[4];
        size_t n;
        for (uint64_t k = 0; k < 4; k++) words[k] = random_at(5, i * 4u + k);
        assert_int_equal(intern_find(t, words, words[0] % 33), id[i]);
        assert_ptr_equal(intern_get(t, id[i], &n), at[i]); /* not moved */
        assert_int_equal(n, words[0] % 33);
        assert_memory_equal(at[i], words, n);
    }
    assert_int_equal(intern_find(t, "not there", 9), 0);
    assert_true(intern_count(t) >= COUNT * 9 / 10 && intern_count(t) <= COUNT);
    intern_free(t);
    intern_free(NULL);
    arena_free(a);
}

static void empty_tables_find_nothing(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    Intern *t = intern_new(a);
    assert_int_equal(intern_count(t), 0);
    assert_int_equal(intern_find(t, "a", 1), 0);
    assert_int_equal(intern_put(t, NULL, 0), 1);
    assert_int_equal(intern_put(t, "", 0), 1);
    assert_int_equal(intern_put(t, "", 1), 2);
    intern_reset(t, 0);
    assert_int_equal(intern_find(t, "", 0), 0);
    intern_free(t);
    arena_free(a);
}

/* Compares random insertions and resets with a plain list; the table grows on the way. */
static void resets_forget_exactly_what_followed(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    Intern *t = intern_new(a);
    ArenaMark marks[64];
    uint32_t counts[64];
    uint64_t *model = malloc(20000 * sizeof *model);
    uint64_t draw = 0;
    int depth = 0;
    Random r = {9, 0};
    for (int step = 0; step < 400; step++) {
        if (depth < 64 && (depth == 0 || random_below(&r, 2))) {
            marks[depth] = arena_mark(a);
            counts[depth++] = intern_count(t);
            for (uint64_t i = 0, n = random_below(&r, 400); i < n && intern_count(t) < 20000; i++) {
                uint64_t key = draw++ % 3 ? random_next(&r) : random_below(&r, 50);
                uint32_t before = intern_count(t), id = intern_put(t, &key, sizeof key);
                if (id > before) model[before] = key;
                assert_int_equal(model[id - 1], key);
            }
        } else {
            depth -= 1 + (int)random_below(&r, (uint64_t)depth);
            uint32_t from = intern_count(t);
            intern_reset(t, counts[depth]);
            arena_reset(a, marks[depth]);
            assert_int_equal(intern_count(t), counts[depth]);
            for (uint32_t i = counts[depth]; i < from; i++)
                assert_int_equal(intern_find(t, &model[i], sizeof *model), 0);
        }
        for (uint32_t i = 0; i < intern_count(t); i++)
            assert_int_equal(intern_find(t, &model[i], sizeof *model), i + 1);
    }
    intern_reset(t, 0);
    arena_reset(a, (ArenaMark){0, 0});
    assert_int_equal(arena_bytes(a), 0);
    free(model);
    intern_free(t);
    arena_free(a);
}

static void hashes_are_those_of_xxh3(void **state) {
    (void)state;
    char hex[33];
    /* The published hash of the empty input. */
    assert_true(hash_bytes(NULL, 0) == 0x2d06800538d394c2u);
    hash_hex("", 0, hex);
    assert_string_equal(hex, "99aa06d3014798d86001c324468d497f");
}

/* ---- random numbers */

static void draws_are_reproducible(void **state) {
    (void)state;
    Random r = {1, 0};
    uint64_t first = random_next(&r), second = random_next(&r);
    assert_true(second == random_at(1, 1) && first == random_at(1, 0));
    assert_true(first != second && random_at(2, 0) != first);
    assert_int_equal(r.counter, 2);
    assert_true(random_at(0, 0) == UINT64_C(0xa706dd2f4d197e6f) &&
                random_at(1, 2) == UINT64_C(0xb95f66d327e8d78));
}

static void draws_are_uniform(void **state) {
    (void)state;
    enum { SIDES = 7, THROWS = 70000 };
    Random r = {3, 0};
    int seen[SIDES] = {0};
    for (int i = 0; i < THROWS; i++) seen[random_below(&r, SIDES)]++;
    /* Within 4 standard deviations. */
    for (int i = 0; i < SIDES; i++) assert_true(seen[i] >= 9600 && seen[i] <= 10400);
    int high = 0; /* mod alone would put two thirds into the lower half */
    for (int i = 0; i < 10000; i++)
        high += random_below(&r, UINT64_C(3) << 62) >= UINT64_C(3) << 61;
    assert_true(high >= 4800 && high <= 5200);
    for (int i = 0; i < 100; i++) assert_int_equal(random_below(&r, 1), 0);
    double sum = 0, normal = 0, square = 0;
    for (int i = 0; i < 20000; i++) {
        double u = random_unit(&r), z = random_normal(&r);
        assert_true(u >= 0 && u < 1 && isfinite(z));
        sum += u;
        normal += z;
        square += z * z;
    }
    assert_true(fabs(sum / 20000 - 0.5) < 0.01 && fabs(normal / 20000) < 0.03 &&
                fabs(square / 20000 - 1) < 0.04);
}

/* ---- texts */

static void texts_grow(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    Text t = text_new(a), late = {.arena = a};
    assert_string_equal(t.data, "");
    for (int i = 0; i < 1000; i++) {
        text_add(&t, "%d,", i % 10);
        assert_int_equal(t.data[t.size], 0);
    }
    assert_int_equal(t.size, 2000);
    assert_memory_equal(t.data + 1990, "5,6,7,8,9,", 11);
    text_bytes(&late, "a\0b", 3);
    text_add(&late, "%s", "c");
    assert_memory_equal(late.data, "a\0bc", 5);
    arena_free(a);
}

/* Text formatted without the C library equals what the C library prints. */
static void texts_are_formatted(void **state) {
    (void)state;
    static const int64_t numbers[] = {0, 7, -10, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
    Arena *a = arena_new(NULL, 0);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        char want[200];
        Text t = text_new(a), padded = text_new(a);
        snprintf(want, sizeof want, "a%s%" PRId64 "d%d%sl", "", numbers[k], (int)k - 3, "%s%ld");
        text_add(&t, "a%s%" PRId64 "d%d%sl", "", numbers[k], (int)k - 3, "%s%ld");
        assert_string_equal(t.data, want);
        assert_int_equal(t.size, strlen(want));
        text_add(&padded, "%d%%%5d%.2s%g", (int)k, 3, "xyz", 0.5);
        assert_string_equal(padded.data + 1, "%    3xy0.5");
    }
    arena_free(a);
}

static Scan scan_of(const char *text, Error *e) {
    *e = (Error){0};
    return scan_new("t", text, strlen(text), e);
}

static void tokens_are_taken_or_left(void **state) {
    (void)state;
    Error e;
    char name[16];
    int64_t i;
    double x;
    Scan s = scan_of("  # comment\n y.1-b = conv ->(-12, +3.5e-2) # end\n\n", &e);
    assert_false(scan_int(&s, &i));
    assert_false(scan_word(&s, "y"));
    assert_ptr_equal(s.at, s.start);
    assert_true(scan_name(&s, name, sizeof name));
    assert_string_equal(name, "y.1-b");
    assert_true(scan_char(&s, '=') && scan_word(&s, "conv") && scan_word(&s, "->") &&
                scan_char(&s, '('));
    assert_true(scan_int(&s, &i) && i == -12);
    assert_false(scan_char(&s, ')'));
    assert_true(scan_char(&s, ',') && scan_real(&s, &x) && x == 0.035);
    assert_false(scan_end(&s));
    assert_true(scan_char(&s, ')') && scan_end(&s) && s.at == s.end);
    assert_false(scan_char(&s, 0) || scan_name(&s, name, sizeof name) || scan_real(&s, &x));
    assert_int_equal(e.kind, E_NONE);

    s = scan_of("a. b- n-1 minimum", &e);
    assert_true(scan_name(&s, name, sizeof name) && strcmp(name, "a") == 0 && scan_char(&s, '.'));
    assert_true(scan_name(&s, name, sizeof name) && strcmp(name, "b") == 0 && scan_char(&s, '-'));
    assert_true(scan_name(&s, name, sizeof name) && strcmp(name, "n-1") == 0);
    assert_false(scan_word(&s, "min"));
}

static void lines_may_be_tokens(void **state) {
    (void)state;
    Error e;
    char name[16];
    Scan s = scan_of(" a # x\n b", &e);
    s.lines = true;
    assert_true(scan_name(&s, name, sizeof name));
    assert_false(scan_name(&s, name, sizeof name) || scan_end(&s));
    assert_true(scan_char(&s, '\n') && scan_name(&s, name, sizeof name) && scan_end(&s));
    s = scan_of("  # c\n  z", &e);
    scan_blank_line(&s);
    assert_int_equal(*s.at, '\n');
    scan_blank(&s);
    assert_int_equal(*s.at, 'z');
}

static void integers_have_64_bits(void **state) {
    (void)state;
    Error e;
    int64_t i = 7;
    Scan s = scan_of("9223372036854775807 -9223372036854775808 00012", &e);
    assert_true(scan_int(&s, &i) && i == INT64_MAX);
    assert_true(scan_int(&s, &i) && i == INT64_MIN);
    assert_true(scan_int(&s, &i) && i == 12);
    static const char *const wrong[] = {"9223372036854775808", "-9223372036854775809",
                                        "99999999999999999999999"};
    for (int k = 0; k < 3; k++) {
        s = scan_of(wrong[k], &e);
        assert_false(scan_int(&s, &i));
        assert_int_equal(e.kind, E_INVALID);
        assert_int_equal(i, 12);
    }
    s = scan_of("-x", &e);
    assert_false(scan_int(&s, &i));
    assert_int_equal(e.kind, E_NONE);
}

static void reals_are_read_exactly(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"0", 0},      {".5", 0.5},          {"-3.", -3},
                 {"1e3", 1e3},  {"0x1.8p-3", 0.1875}, {"1e-400", 0},
                 {"+0.1", 0.1}, {"-inf", -INFINITY}};
    Error e;
    double x;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Scan s = scan_of(cases[k].text, &e);
        assert_true(scan_real(&s, &x) && x == cases[k].value && scan_end(&s));
    }
    Scan s = scan_of("nan 2ex 1e999", &e);
    assert_true(scan_real(&s, &x) && isnan(x));
    assert_true(scan_real(&s, &x) && x == 2 && scan_word(&s, "ex"));
    assert_false(scan_real(&s, &x));
    assert_int_equal(e.kind, E_INVALID);
    s = scan_of(". infinite", &e);
    assert_false(scan_real(&s, &x));
    assert_true(scan_char(&s, '.') && !scan_real(&s, &x));
    assert_int_equal(e.kind, E_NONE);
    char digits[] = "1.2345";
    s = scan_new("t", digits, 3, &e); /* the text ends before its terminator */
    assert_true(scan_real(&s, &x) && x == 1.2 && scan_end(&s));
}

static void strings_know_five_escapes(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    Error e;
    Text t = text_new(a);
    Scan s = scan_of(" \"a\\\"\\\\\\n\\t\\x0aB\" \"\"", &e);
    assert_true(scan_string(&s, &t) && scan_string(&s, &t) && scan_end(&s));
    assert_string_equal(t.data, "a\"\\\n\t\nB");
    assert_false(scan_string(&s, &t));
    assert_int_equal(e.kind, E_NONE);
    static const char *const wrong[] = {"\"open", "\"line\nend\"", "\"\\q\"", "\"\\x4\"", "\"\\",
                                        "\"",     "\"\\\t\""};
    static const int column[] = {1, 1, 2, 2, 2, 1, 2};
    for (int k = 0; k < 7; k++) {
        s = scan_of(wrong[k], &e);
        assert_false(scan_string(&s, &t));
        assert_int_equal(e.kind, E_INVALID);
        assert_int_equal(e.column, column[k]);
    }
    arena_free(a);
}

static void messages_show_line_and_caret(void **state) {
    (void)state;
    Error e;
    char text[600], name[4];
    Scan s = scan_of("one\n\tt\xc3\xa9 = fold(x)\nthree", &e);
    assert_false(scan_fail(&s, strstr(s.start, "fold"), "unknown operator %s", "fold"));
    assert_int_equal(e.line, 2);
    assert_int_equal(e.column, 8);
    error_print(&e, text, sizeof text);
    assert_string_equal(
        text, "t:2:8: unknown operator fold (invalid input)\n\tt\xc3\xa9 = fold(x)\n\t     ^");
    s = scan_of("abcdef", &e);
    assert_false(scan_name(&s, name, sizeof name));
    assert_string_equal(e.reason, "a name of more than 3 characters\nabcdef\n^");
    s = scan_of("", &e);
    scan_fail(&s, s.end, "empty");
    assert_string_equal(e.reason, "empty\n\n^");

    char line[5000];
    memset(line, '\1', sizeof line);
    s = scan_new("t", line, sizeof line, &e);
    e = (Error){0};
    scan_fail(&s, line + 4000, "long");
    assert_int_equal(e.column, 4001);
    assert_int_equal(strlen(e.reason), 4 + 1 + 80 + 1 + 60 + 1);
    assert_int_equal(e.reason[5], '?');
}

static bool lower_key(const void *keys, int a, int b) {
    const int *key = keys;
    return key[a] != key[b] ? key[a] < key[b] : a < b;
}

/* Numbers are pushed in any order and popped in between; some keys are equal. */
static void heaps_give_the_first_of_what_is_left(void **state) {
    (void)state;
    enum { N = 500 };
    Arena *a = arena_new(NULL, 0);
    int key[N];
    bool inside[N] = {false};
    Heap h = {.arena = a, .before = lower_key, .user = key};
    Random r = {7, 0};
    for (int k = 0; k < N; k++) {
        key[k] = (int)random_below(&r, 40);
        heap_push(&h, k);
        inside[k] = true;
        if (k % 3) continue;
        int first = heap_pop(&h);
        for (int j = 0; j < N; j++) assert_false(inside[j] && lower_key(key, j, first));
        inside[first] = false;
    }
    for (int before = -1; h.n;) {
        int next = heap_pop(&h);
        assert_true(inside[next] && (before < 0 || lower_key(key, before, next)));
        inside[next] = false;
        before = next;
    }
    for (int k = 0; k < N; k++) assert_false(inside[k]);
    arena_free(a);
}

static void lists_grow_and_keep_what_they_hold(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    uint32_t *v = NULL, n = 0, room = 0;
    for (; n < 1000; n++) {
        ARENA_GROW(a, v, room, n + 1);
        v[n] = n;
    }
    assert_true(room >= n);
    for (uint32_t k = 0; k < room; k++) assert_int_equal(v[k], k < n ? k : 0);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_take_back_what_followed),
        cmocka_unit_test(the_limit_escapes),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(equal_bytes_have_equal_numbers),
        cmocka_unit_test(empty_tables_find_nothing),
        cmocka_unit_test(resets_forget_exactly_what_followed),
        cmocka_unit_test(hashes_are_those_of_xxh3),
        cmocka_unit_test(heaps_give_the_first_of_what_is_left),
        cmocka_unit_test(lists_grow_and_keep_what_they_hold),
        cmocka_unit_test(draws_are_reproducible),
        cmocka_unit_test(draws_are_uniform),
        cmocka_unit_test(texts_grow),
        cmocka_unit_test(texts_are_formatted),
        cmocka_unit_test(tokens_are_taken_or_left),
        cmocka_unit_test(lines_may_be_tokens),
        cmocka_unit_test(integers_have_64_bits),
        cmocka_unit_test(reals_are_read_exactly),
        cmocka_unit_test(strings_know_five_escapes),
        cmocka_unit_test(messages_show_line_and_caret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
