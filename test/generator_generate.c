/* generator_generate.c -- tests whole runs of the generator: the output has the same bytes however
   the work is divided, near-misses are not rules, and errors are clear. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "generator/generate.h"
#include "generator/relate.h"
#include "graphs/world.h"
#include "rules/rule.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const GenerateOptions defaults = {.size = 2,
                                         .jobs = 1,
                                         .nshard = 1,
                                         .seed = 1,
                                         .memory = 1u << 30,
                                         .set = "generator/sets/taso.set"};

typedef struct Run {
    Arena *arena;
    Text out;
    GenerateReport report;
    Error error;
    bool ok;
} Run;

static Run run(const GenerateOptions *o) {
    Run r = {.arena = arena_new(NULL, 0)};
    r.out = text_new(r.arena);
    r.ok = generate(o, r.arena, &r.out, &r.report, &r.error);
    if (!r.out.data) r.out.data = arena_string(r.arena, "", 0);
    return r;
}
static void same(const GenerateOptions *a, const GenerateOptions *b) {
    Run x = run(a), y = run(b);
    assert_true(x.ok && y.ok);
    assert_true(x.report.rules > 20);
    assert_string_equal(x.out.data, y.out.data);
    arena_free(x.arena);
    arena_free(y.arena);
}

static const char *folder(char path[64]) {
    strcpy(path, "/tmp/isomer-test-XXXXXX");
    assert_non_null(mkdtemp(path));
    return path;
}
static void remove_folder(const char *path) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}

static void jobs_do_not_matter(void **state) {
    (void)state;
    GenerateOptions two = defaults;
    two.jobs = 3;
    same(&defaults, &two);
}

/* With so little memory, every task writes a sorted run of its own to disk. */
static void memory_does_not_matter(void **state) {
    (void)state;
    GenerateOptions small = defaults;
    small.memory = 1;
    small.jobs = 2;
    same(&defaults, &small);
}

static void shards_agree(void **state) {
    (void)state;
    char path[64];
    GenerateOptions o = defaults;
    o.folder = folder(path);
    o.nshard = 2;
    pid_t child = fork();
    if (!child) {
        o.shard = 1;
        _exit(run(&o).ok ? 0 : 1);
    }
    same(&defaults, &o);
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    remove_folder(path);
}

/* The run is killed again and again, each time a little later, and then completes undisturbed. */
static void a_killed_run_goes_on(void **state) {
    (void)state;
    char path[64];
    GenerateOptions o = defaults;
    o.folder = folder(path);
    o.memory = 1;
    for (int k = 1; k <= 6; k++) {
        pid_t child = fork();
        if (!child) _exit(run(&o).ok ? 0 : 1);
        usleep((useconds_t)(k * k * 4000));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    same(&defaults, &o);
    remove_folder(path);
}

/* A bound that no number reached would make clip equal to relu or to its argument, and rules about
   it would be lost with it. */
static void bounds_are_reached(void **state) {
    (void)state;
    GenerateOptions o = defaults;
    o.set = "test/cases/generator/bounds.set";
    o.size = 2;
    Run r = run(&o);
    if (!r.ok) fail_msg("%s", r.error.reason);
    static const char *const wrong[] = {"%1 = clip %x1 min=-12 max=20\n  out %1\nto\n  out %x1\n",
                                        "%1 = clip %x1 min=0 max=20\n  out %1\nto\n  %1 = relu"};
    for (int k = 0; k < 2; k++) assert_null(strstr(r.out.data, wrong[k]));
    assert_int_equal(r.report.rules, 10);
    arena_free(r.arena);
}

static void runs_of_another_seed_are_refused(void **state) {
    (void)state;
    char path[64];
    GenerateOptions o = defaults;
    o.size = 1;
    o.folder = folder(path);
    Run a = run(&o);
    o.seed = 2;
    Run b = run(&o);
    assert_true(a.ok);
    assert_false(b.ok);
    assert_int_equal(b.error.kind, E_INVALID);
    assert_non_null(strstr(b.error.reason, "another set, seed or program"));
    arena_free(a.arena);
    arena_free(b.arena);
    remove_folder(path);
}

/* Terms built over representatives only reach every class that terms of that size have. */
static void representatives_suffice(void **state) {
    (void)state;
    GenerateOptions all = defaults;
    all.exhaustive = true;
    Run a = run(&defaults), b = run(&all);
    assert_true(a.ok && b.ok);
    assert_int_equal(a.report.level[2].classes, b.report.level[2].classes);
    arena_free(a.arena);
    arena_free(b.arena);
}

static void seeds_find_the_same_classes(void **state) {
    (void)state;
    GenerateOptions other = defaults;
    other.seed = 77;
    Run a = run(&defaults), b = run(&other);
    for (int k = 0; k <= 2; k++)
        assert_int_equal(a.report.level[k].classes, b.report.level[k].classes);
    arena_free(a.arena);
    arena_free(b.arena);
}

static void rules_read_back_and_type(void **state) {
    (void)state;
    Run r = run(&defaults);
    RuleSet set = {.arena = r.arena};
    Error e = {0};
    assert_true(rules_parse(r.arena, "out", r.out.data, r.out.size, &set, &e));
    assert_int_equal(set.n, r.report.rules);
    for (int k = 0; k < set.n; k++) {
        World *w = graph_world_new(NULL, 0);
        Instance i;
        int length[RULE_BLOCKS];
        rule_lengths_first(&set.v[k], length);
        assert_true(rule_instance(w, r.arena, &set.v[k], length, &i, &e));
        assert_true(i.from.nout == i.to.nout && i.from.nout >= 1);
        world_free(w);
    }
    arena_free(r.arena);
}

/* ---- near-misses */

static Run run_set(const char *text, int size) {
    char path[64], file[96];
    folder(path);
    snprintf(file, sizeof file, "%s/case.set", path);
    FILE *f = fopen(file, "w");
    fputs(text, f);
    fclose(f);
    GenerateOptions o = defaults;
    o.set = file;
    o.size = size;
    Run r = run(&o);
    remove_folder(path);
    return r;
}

/* At 1 x 1 a transpose changes nothing, so the first stage cannot tell it from its input; the
   second stage can. */
static void small_shapes_do_not_deceive(void **state) {
    (void)state;
    Run r = run_set("sizes m\nat 1\nat 3\ninput matrix : F [m, m]\nop transpose perm=[1, 0] : "
                    "matrix\nop matmul : matrix matrix\n",
                    2);
    assert_true(r.ok);
    assert_true(r.report.coincidences > 0);
    assert_null(strstr(r.out.data, "%1 = transpose %x1 perm=[1, 0]\n  out %1\nto\n  out %x1"));
    assert_non_null(strstr(r.out.data, "%2 = transpose %1 perm=[1, 0]\n  out %2\nto\n  out %x1"));
    arena_free(r.arena);
}

/* Both stages are at 1 x 1, so only the trial at random sizes can refute the candidates. */
static void random_sizes_are_the_last_word(void **state) {
    (void)state;
    Run r = run_set(
        "sizes m\nat 1\nat 1\ninput matrix : F [m, m]\nop transpose perm=[1, 0] : matrix\n", 1);
    assert_true(r.ok);
    assert_int_equal(r.report.untrue, 1);
    assert_int_equal(r.report.rules, 0);
    arena_free(r.arena);
}

/* relu x = x = |x| holds for positive values only. */
static void signs_are_told_apart(void **state) {
    (void)state;
    Run r = run_set("sizes m\nat 3\nat 4\ninput vector : F [m]\nop relu : vector\nop abs : "
                    "vector\nop mul : vector vector\n",
                    2);
    assert_true(r.ok);
    assert_null(strstr(r.out.data, "from\n  %1 = relu %x1\n  out %1\nto\n  out %x1"));
    assert_null(strstr(r.out.data, "from\n  %1 = abs %x1\n  out %1\n"));
    assert_non_null(
        strstr(r.out.data,
               "%1 = mul %x1 %x1\n  %2 = relu %1\n  out %2\nto\n  %1 = mul %x1 %x1\n  out %1"));
    arena_free(r.arena);
}

/* A term that is undefined for some values does not equal one that is defined there: sqrt(x)
   sqrt(x) is not x. */
static void undefined_values_count(void **state) {
    (void)state;
    Run r = run_set("sizes m\nat 4\nat 5\ninput vector : F [m]\nop sqrt : vector\nop mul : vector "
                    "vector\nop abs : vector\n",
                    2);
    assert_true(r.ok);
    assert_null(strstr(r.out.data, "%1 = sqrt %x1\n  %2 = mul %1 %1\n  out %2\nto\n  out %x1"));
    assert_non_null(strstr(
        r.out.data, "%1 = mul %x1 %x1\n  %2 = abs %1\n  out %2\nto\n  %1 = mul %x1 %x1\n  out %1"));
    arena_free(r.arena);
}

/* Each of these equations holds at both stages of its set, since the sizes there happen to meet its
   condition; the trial at random sizes must refute it. */
static void planted_near_misses(void **state) {
    (void)state;
    static const struct {
        const char *what, *set, *wrong;
        int size;
    } cases[] = {
        {"a window that covers all of a small image",
         "sizes n c h w\nat 2 2 2 2\nat 3 1 2 2\ninput image : F [n, c, h, w]\n"
         "op maxpool kernel=[3, 3] pads=[1, 1, 1, 1] : image\n",
         "to\n  %1 = maxpool %x1 kernel=[3, 3] pads=[1, 1, 1, 1]\n  out %1", 2},
        {"one group",
         "sizes n c h w\nat 3 2 3 4\nat 4 3 2 5\ninput image : F [n, c, h, w]\ninput kernel : F "
         "[c, c, 3, 3]\n"
         "op conv group=g pads=[1, 1, 1, 1] : image kernel where g = 1\nop concat axis=0 : kernel "
         "kernel\nop concat axis=1 : image image\n",
         "group=", 3},
        {"one element on each axis",
         "sizes m\nat 1\nat 1\ninput matrix : F [m, m]\nop softmax axis=0 : matrix\nop softmax "
         "axis=1 : matrix\n",
         "= softmax %x1 axis=0\n  out %1\nto\n  %1 = softmax %x1", 1},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Run r = run_set(cases[k].set, cases[k].size);
        if (!r.ok) print_message("%s: %s\n", cases[k].what, r.error.reason);
        assert_true(r.ok);
        if (strstr(r.out.data, cases[k].wrong))
            print_message("%s:\n%s\n", cases[k].what, r.out.data);
        assert_null(strstr(r.out.data, cases[k].wrong));
        arena_free(r.arena);
    }
}

/* Each of these equations holds only for positive values, only for values that are integers, or
   except for one value. */
static void planted_values(void **state) {
    (void)state;
    static const char head[] = "sizes m\nat 3\nat 4\ninput vector : F [m]\n";
    static const struct {
        const char *ops, *wrong;
        int size;
    } cases[] = {
        {"op abs : vector\nop neg : vector\n", "from\n  %1 = abs %x1\n  out %1\n", 2},
        {"op relu : vector\nop mul : vector vector\n",
         "from\n  %1 = mul %x1 %x1\n  %2 = relu %1\n  out %2\nto\n  out %x1", 2},
        {"op min : vector vector\nop mul : vector vector\n",
         "%1 = mul %x1 %x1\n  %2 = min %x1 %1\n  out %2\nto\n  out %x1", 2},
        {"op div : vector vector\nop fill value=1 shape=[m] : -> vector\n",
         "%1 = div %x1 %x1\n  out %1\nto\n  %1 = fill", 1},
        {"op floor : vector\nop neg : vector\n", "from\n  %1 = floor %x1\n  out %1\nto\n  out %x1",
         2},
        {"op exp : vector\nop log : vector\n",
         "%1 = log %x1\n  %2 = exp %1\n  out %2\nto\n  out %x1", 2},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char set[512];
        snprintf(set, sizeof set, "%s%s", head, cases[k].ops);
        Run r = run_set(set, cases[k].size);
        if (!r.ok) print_message("%s: %s\n", cases[k].ops, r.error.reason);
        assert_true(r.ok);
        if (strstr(r.out.data, cases[k].wrong))
            print_message("%s:\n%s\n", cases[k].ops, r.out.data);
        assert_null(strstr(r.out.data, cases[k].wrong));
        arena_free(r.arena);
    }
}

/* ---- errors */

static void errors_are_clear(void **state) {
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"sizes m\nat 1\nat 2\ninput a : F [m]\nop frobnicate : a\n",
         "unknown operator \"frobnicate\""},
        {"sizes m\nat 1\nat 2\ninput a : F [m]\nop add : b b\n",
         "no input is declared with this sort"},
        {"sizes m\nat 1\nat 2\ninput a : F [m]\nop add : a\n", "wrong number of arguments"},
        {"sizes m\nat 1\nat 2\ninput a : F [m]\nop relu speed=3 : a\n", "no such attribute"},
        {"sizes m\nat 1\ninput a : F [m]\n", "two `at` lines"},
        {"sizes m\nat 1\nat 2\ninput a : F [k]\n", "a size of the input has no value"},
        {"sizes m\nat 0\nat 2\n", "from 1 to 64"},
        {"sizes m\nat 1\nat 2\ninput a : F [m]\nop gelu : a\n", "has no definition"},
        {"sizes m\nat 1\nat 2\ninput a : F [m]\n", "no operator"},
        {"wizard\n", "expected sizes, at, input or op"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Run r = run_set(cases[k].text, 1);
        assert_false(r.ok);
        assert_int_equal(r.error.kind, E_INVALID);
        if (!strstr(r.error.reason, cases[k].reason))
            print_message("case %zu: %s\n", k, r.error.reason);
        assert_non_null(strstr(r.error.reason, cases[k].reason));
        arena_free(r.arena);
    }
    GenerateOptions o = defaults;
    o.set = "no/such.set";
    Run r = run(&o);
    assert_false(r.ok);
    assert_int_equal(r.error.kind, E_ENVIRONMENT);
    arena_free(r.arena);
}

/* If there is no room for runs, the error names the file, and no half-written file stays. */
static void a_full_disk_is_an_error(void **state) {
    (void)state;
    char path[64];
    GenerateOptions o = defaults;
    o.folder = folder(path);
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){512, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    Run r = run(&o);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    assert_false(r.ok);
    assert_int_equal(r.error.kind, E_ENVIRONMENT);
    assert_non_null(strstr(r.error.place, path));
    arena_free(r.arena);
    same(&defaults, &o);
    remove_folder(path);
}

/* ---- what a run holds */

/* Runs in memory of its own, with sorted runs in a folder under `tmp`. Returns the kind of error,
   or ERROR_KIND_COUNT if the run holds memory or leaves files. */
static ErrorKind run_and_release(GenerateOptions o, const char *tmp) {
    Escape escape = {.error = {0}};
    static Error error; /* a jump loses local variables */
    Error *const e = &error;
    GenerateReport report;
    error = (Error){0};
    const size_t before = mem_bytes();
    setenv("TMPDIR", tmp, 1);
    if (setjmp(escape.here)) *e = escape.error;
    else {
        Arena *a = arena_new(&escape, 0);
        Text out = text_new(a);
        generate(&o, a, &out, &report, e);
    }
    mem_fail_at(0);
    escape_free(&escape);
    unsetenv("TMPDIR");
    if (mem_bytes() == before && !rmdir(tmp) && !mkdir(tmp, 0700)) return e->kind;
    fprintf(stderr, "%s: %lld bytes are left, or files\n", e->reason,
            (long long)(mem_bytes() - before));
    return ERROR_KIND_COUNT;
}

/* Whichever allocation fails, on whichever thread, the run ends, and nothing is left of it. */
static void every_allocation_may_fail(void **state) {
    (void)state;
    char path[64];
    folder(path);
    int failed = 0;
    for (int64_t n = 1;; n += 1 + n / 16) {
        int status;
        pid_t child = fork();
        if (!child) {
            GenerateOptions o = defaults;
            o.memory = 1;
            o.jobs = 3;
            mem_fail_at(n);
            _exit((int)run_and_release(o, path));
        }
        waitpid(child, &status, 0);
        if (!WIFEXITED(status)) fail_msg("allocation %lld: signal %d", (long long)n, status);
        if (WEXITSTATUS(status) == E_NONE) break;
        if (WEXITSTATUS(status) != E_MEMORY) fail_msg("allocation %lld", (long long)n);
        failed++;
    }
    assert_true(failed > 50);
    remove_folder(path);
}

/* The disk is full, or the run is stopped, when a few runs of the last level are there. */
static bool is_late(const GenerateProgress *p) { return p->level == 2 && p->done > 4; }
static void fill_disk(void *user, const GenerateProgress *p) {
    struct rlimit none = *(struct rlimit *)user;
    none.rlim_cur = 0;
    if (is_late(p)) setrlimit(RLIMIT_FSIZE, &none);
}
static void stop_late(void *user, const GenerateProgress *p) {
    if (is_late(p)) *(volatile int *)user = 1;
}

/* A run that fails after it has put sorted runs in a folder of its own removes them. */
static void a_failed_run_leaves_no_files(void **state) {
    (void)state;
    char path[64];
    GenerateOptions o = defaults;
    struct rlimit old;
    getrlimit(RLIMIT_FSIZE, &old);
    o.memory = 1;
    o.progress = fill_disk;
    o.user = &old;
    signal(SIGXFSZ, SIG_IGN);
    const ErrorKind kind = run_and_release(o, folder(path));
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(kind, E_ENVIRONMENT);
    remove_folder(path);
}

/* A run that is stopped keeps what it finished if it has a folder for it, and nothing else. */
static void a_stopped_run_leaves_what_is_kept(void **state) {
    (void)state;
    char path[64], kept[64];
    for (int k = 0; k < 2; k++) {
        volatile int stop = 0;
        GenerateOptions o = defaults;
        o.memory = 1;
        o.jobs = 2;
        o.folder = k ? folder(kept) : NULL;
        o.cancel = &stop;
        o.progress = stop_late;
        o.user = (void *)&stop;
        assert_int_equal(run_and_release(o, folder(path)), E_INTERRUPTED);
        remove_folder(path);
        if (!k) continue;
        assert_int_equal(rmdir(kept), -1);
        o.progress = NULL;
        stop = 0;
        same(&defaults, &o);
        remove_folder(kept);
    }
}

/* ---- --derive */

static void given_rules_are_derived_or_not(void **state) {
    (void)state;
    static const char rules[] = "rule thrice\n  %x : F [a, b]\nfrom\n  %1 = relu %x\n  %2 = relu "
                                "%1\n  %3 = relu %2\n  out %3\nto\n  %1 = relu %x\n  out %1\n\n"
                                "rule wrong\n  %x : F [a, b]\nfrom\n  %1 = transpose %x perm=[1, "
                                "0]\n  out %1\nto\n  %1 = relu %x\n  out %1\n\n"
                                "rule merge\n  %x : F [a, b]   %u : F [b, c]   %v : F [b, "
                                "d]\nfrom\n  %1 = matmul %x %u\n  %2 = matmul %x %v\n  out %1 %2\n"
                                "to\n  %w = concat %u %v axis=1\n  %y = matmul %x %w\n  %1 %2 = "
                                "split %y axis=1 sizes=[c, d]\n  out %1 %2\n\n"
                                "rule foreign\n  %x : F [a, b]\nfrom\n  %1 = tanh %x\n  out "
                                "%1\nto\n  %1 = sigmoid %x\n  out %1\n";
    GenerateOptions o = defaults;
    o.size = 3;
    Run r = run(&o);
    assert_true(r.ok);
    RuleSet given = {.arena = r.arena}, known = {.arena = r.arena};
    Text out = text_new(r.arena);
    Error e = {0};
    int missing;
    assert_true(rules_parse(r.arena, "given", rules, strlen(rules), &given, &e));
    assert_true(rules_parse(r.arena, "generated", r.out.data, r.out.size, &known, &e));
    assert_true(relate_derive(r.arena, &given, &known, &out, &missing, &e));
    assert_int_equal(missing, 2);
    assert_non_null(strstr(out.data, "derived     thrice: taso-3-"));
    assert_non_null(strstr(out.data, "not derived wrong\n"));
    assert_non_null(strstr(out.data, "derived     merge: taso-3-"));
    assert_non_null(strstr(out.data, "not derived foreign\n"));
    arena_free(r.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_do_not_matter),
        cmocka_unit_test(memory_does_not_matter),
        cmocka_unit_test(shards_agree),
        cmocka_unit_test(a_killed_run_goes_on),
        cmocka_unit_test(bounds_are_reached),
        cmocka_unit_test(runs_of_another_seed_are_refused),
        cmocka_unit_test(representatives_suffice),
        cmocka_unit_test(seeds_find_the_same_classes),
        cmocka_unit_test(rules_read_back_and_type),
        cmocka_unit_test(small_shapes_do_not_deceive),
        cmocka_unit_test(random_sizes_are_the_last_word),
        cmocka_unit_test(signs_are_told_apart),
        cmocka_unit_test(undefined_values_count),
        cmocka_unit_test(planted_near_misses),
        cmocka_unit_test(planted_values),
        cmocka_unit_test(errors_are_clear),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_failed_run_leaves_no_files),
        cmocka_unit_test(a_stopped_run_leaves_what_is_kept),
        cmocka_unit_test(given_rules_are_derived_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
