/* search_target.c -- tests commands that measure: an honest one, and commands that die, hang,
   answer nonsense or leave answers out. It also tests what a place is said to gain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "search/command/command_report.h"
#include "search/command/price.h"
#include "search/command/target.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Answers a path with its length in milliseconds, or with FAIL if it contains "bad". */
static const char honest[] = "while read -r p; do if [ -z \"$p\" ]; then echo; else case \"$p\" in "
                             "*bad*) echo \"FAIL $p it is bad\";; "
                             "*) echo \"0.00${#p} $p\";; esac; fi; done";

static bool measure(const char *command, int n, Timing *v, double timeout, Error *e) {
    Target *t = target_start(command, INFINITY, e);
    bool good = t && target_measure(t, n, v, timeout, e);
    target_stop(t);
    return good;
}

static void batches_are_answered(void **state) {
    (void)state;
    Error e = {0};
    Target *t = target_start(honest, INFINITY, &e);
    assert_non_null(t);
    for (int round = 0; round < 3; round++) {
        Timing v[] = {
            {.path = "/a"}, {.path = "/bad one"}, {.path = "/with blank"}, {.path = "/a/bc"}};
        assert_true(target_measure(t, 4, v, 10, &e));
        assert_true(v[0].seconds == 0.002 && v[3].seconds == 0.005);
        assert_true(v[1].seconds < 0);
        assert_string_equal(v[1].reason, "it is bad");
        assert_true(v[2].seconds > 0);
    }
    target_stop(t);
}

/* In its n-th batch, the command answers with n seconds for the first file and 2 n for the others.
   It answers nonsense if a batch has more than three files. */
static const char counting[] =
    "n=0; while :; do n=$((n+1)); m=0; while read -r p && [ -n \"$p\" ]; do m=$((m+1)); "
    "[ $m -gt 3 ] && echo hello; echo \"$((m > 1 ? 2*n : n)) $p\"; done || exit; echo; done";

static void batches_fit_into_memory(void **state) {
    (void)state;
    Error e = {0};
    static const double bytes[] = {100, 90, 100, 100, 1000, 1};
    static const char *const path[] = {"/a", "/b", "/c", "/d", "/e", "/f"};
    Timing v[6] = {{0}};
    for (int k = 0; k < 6; k++) v[k].path = path[k], v[k].memory = bytes[k];
    Target *t = target_start(counting, 300, &e);
    assert_true(t && target_measure(t, 6, v, 10, &e));
    assert_true(v[0].seconds == 1);
    for (int k = 1; k < 6; k++) assert_true(v[k].seconds == 2);
    target_stop(t);
    t = target_start(counting, 100000, &e);
    assert_false(t && target_measure(t, 6, v, 10, &e)); /* all in one batch */
    target_stop(t);
}

static void answers_may_come_in_any_order_and_may_be_missing(void **state) {
    (void)state;
    Error e = {0};
    Timing v[] = {{.path = "/a"}, {.path = "/b"}, {.path = "/c"}};
    assert_true(
        measure("read x; read x; read x; read x; echo '2 /c'; echo '1 /a'; echo", 3, v, 10, &e));
    assert_true(v[0].seconds == 1 && v[2].seconds == 2 && v[1].seconds < 0);
    assert_string_equal(v[1].reason, "no answer");
}

static void refused(const char *command, double timeout, const char *why) {
    Error e = {0};
    Timing v[] = {{.path = "/a"}};
    assert_false(measure(command, 1, v, timeout, &e));
    assert_int_equal(e.kind, E_ENVIRONMENT);
    assert_string_equal(e.place, "--measure-with");
    if (!strstr(e.reason, why)) fail_msg("%s: %s", command, e.reason);
}

static void commands_that_end_are_noticed(void **state) {
    (void)state;
    refused("exit 3", 10, "ended with status 3");
    refused("read x; echo '1 /a'", 10, "ended with status 0");
    refused("/no/such/command", 10, "found no such command");
    refused("read x; kill -9 $$", 10, "killed by signal 9");
}

/* In each process, the first file takes 2 seconds in the first batch and 3 in all others; others
   take 10 times as long as it. A path with "bad" kills the command. */
static const char crashing[] =
    "n=2; while :; do m=$n; while :; do read -r p || exit; [ -n \"$p\" ] || break; "
    "case \"$p\" in *bad*) kill -KILL $$;; esac; echo \"$m $p\"; m=$((10*n)); done; "
    "n=3; echo; done";

/* Wherever the bad files stand, the others get the times that they have without them, and the same
   process serves the next batch. */
static void a_file_that_kills_the_command_is_dropped(void **state) {
    (void)state;
    enum { N = 5 };
    for (unsigned bad = 0; bad < 1u << (N - 1); bad++) {
        Error e = {0};
        Timing v[N] = {{.path = "/first"}};
        static const char *const path[2][N] = {{"", "/a", "/b", "/c", "/d"},
                                               {"", "/bad a", "/bad b", "/bad c", "/bad"}};
        for (int k = 1; k < N; k++) v[k].path = path[bad >> (k - 1) & 1][k];
        Target *t = target_start(crashing, INFINITY, &e);
        assert_non_null(t);
        for (int batch = 0; batch < 2; batch++) {
            if (!target_measure(t, N, v, 10, &e)) fail_msg("%s", e.reason);
            assert_int_equal(e.kind, E_NONE);
            assert_true(v[0].seconds == 2 || v[0].seconds == 3);
            for (int k = 1; k < N; k++) {
                if (bad >> (k - 1) & 1) {
                    assert_true(v[k].seconds <= 0);
                    assert_non_null(strstr(v[k].reason, "killed by signal 9"));
                } else assert_true(fabs(v[k].seconds / v[0].seconds - 10) < 1e-9);
            }
        }
        target_stop(t);
    }
}

/* It is not started again and again. */
static void a_command_that_dies_at_the_first_file_is_given_up(void **state) {
    (void)state;
    Error e = {0};
    Timing v[] = {{.path = "/bad"}, {.path = "/a"}, {.path = "/b"}};
    assert_false(measure(crashing, 3, v, 10, &e));
    assert_int_equal(e.kind, E_ENVIRONMENT);
    assert_non_null(strstr(e.reason, "killed by signal 9"));
}

static void nonsense_is_refused(void **state) {
    (void)state;
    refused("read x; echo hello; echo; sleep 5", 10, "neither");
    refused("read x; echo 'nan /a'; echo; sleep 5", 10, "neither");
    refused("read x; echo '-1 /a'; echo; sleep 5", 10, "neither");
    refused("read x; echo '1 /other'; echo; sleep 5", 10, "not asked");
    refused("read x; echo 'FAIL /other because'; echo; sleep 5", 10, "not asked");
    refused("read x; head -c 20000 /dev/zero | tr '\\0' x; sleep 5", 10, "too long");
}

static void a_hanging_command_is_given_up_and_killed(void **state) {
    (void)state;
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    refused("trap '' TERM; while :; do sleep 1; done", 0.3, "in time");
    clock_gettime(CLOCK_MONOTONIC, &b);
    assert_true(b.tv_sec - a.tv_sec < 8);
}

static volatile int cancelled;

static void cancel(int signal) {
    (void)signal;
    cancelled = 1;
}

static bool is_cancelled(void *user) { return *(volatile int *)user != 0; }

static void ignore(int signal) { (void)signal; }

/* The flag is set before the wait, so that no signal ends it; then a signal sets the flag; at last
   a signal that does not set it leaves the batch alone. */
static void a_batch_ends_when_it_is_cancelled(void **state) {
    (void)state;
    Timing v[] = {{.path = "/a"}};
    for (int late = 0; late < 2; late++) {
        Error e = {0};
        cancelled = !late;
        signal(SIGALRM, cancel);
        if (late) alarm(1);
        Target *t = target_start("sleep 60", INFINITY, &e);
        assert_non_null(t);
        target_cancel(t, is_cancelled, (void *)(uintptr_t)&cancelled);
        assert_false(target_measure(t, 1, v, 5, &e));
        assert_int_equal(e.kind, E_INTERRUPTED);
        target_stop(t);
    }
    Error e = {0};
    signal(SIGALRM, ignore);
    alarm(1);
    assert_true(measure("read x; read x; sleep 2; echo '1 /a'; echo", 1, v, 20, &e));
    signal(SIGALRM, SIG_DFL);
}

static void no_time_at_all_is_no_time(void **state) {
    (void)state;
    Error e = {0};
    Timing v[] = {{.path = "/a"}};
    assert_true(measure("read x; read x; echo '0 /a'; echo", 1, v, 10, &e));
    assert_true(v[0].seconds <= 0);
    assert_string_equal(v[0].reason, "the answer was 0 seconds");
}

static void a_path_with_a_newline_is_not_sent(void **state) {
    (void)state;
    Error e = {0};
    Timing v[] = {{.path = "/a\n/b"}};
    assert_false(measure(honest, 1, v, 10, &e));
}

/* The gain of a place is limited to the time that its nodes take in the whole model. A part alone
   may gain more, for example because the target fuses other sizes differently. */
static void a_place_gains_what_its_nodes_take(void **state) {
    (void)state;
    PartPrice v[] = {{.seconds = {5e-3, 3e-3}, .gain_most = 1e-3},
                     {.seconds = {5e-3, 3e-3}, .gain_most = HUGE_VAL},
                     {.seconds = {3e-3, 5e-3}, .gain_most = 1e-3},
                     {.seconds = {-1, -1}, .gain_most = 1e-3}};
    int of[] = {0, 1, 2, 3, -1};
    const Pricing x = {.npart = 4, .part = v, .nplace = 5, .part_of = of};
    assert_true(price_gain(&x, 0) == 1e-3);
    assert_true(fabs(price_gain(&x, 1) - 2e-3) < 1e-12);
    assert_true(fabs(price_gain(&x, 2) + 2e-3) < 1e-12);
    assert_true(price_gain(&x, 3) == -1);
    assert_true(price_gain(&x, 4) == -1);
    assert_true(price_sure(&v[0]) && !price_sure(&v[2]) && !price_sure(&v[3]));
}

/* If a lower bound of the time after rewriting exceeds the time of the place, there can be no gain,
   and the part is not timed. If a small gain is possible, it is timed. */
static void what_cannot_gain_is_not_timed(void **state) {
    (void)state;
    PartPrice slow = {.seconds = {-1, -1}, .gain_most = 1e-3, .after_least = 1.78e-3}, fast = slow,
              unknown = {.gain_most = 0};
    fast.after_least = 0.9e-3;
    price_bound(&slow);
    price_bound(&fast);
    price_bound(&unknown);
    assert_true(slow.settled && slow.expected && !price_sure(&slow));
    assert_true(slow.seconds[0] == 1e-3 && slow.seconds[1] == 1.78e-3);
    assert_true(!fast.settled && !fast.expected && fast.seconds[0] < 0);
    assert_true(!unknown.settled);
}

/* A place may be rewritten because others of its kind gain. It is listed although it was not timed,
   after those that were. */
static void places_that_were_not_timed_are_listed(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    Run r = {.arena = a};
    static const char *rule[] = {"a-rule"};
    static const int node[] = {0, 1};
    static const int chosen[] = {0, 1};
    Place place[] = {{.nrule = 1, .rule = rule, .n = 1, .node = &node[0]},
                     {.nrule = 1, .rule = rule, .n = 1, .node = &node[1]}};
    PartPrice part[] = {{.seconds = {-1, -1}, .gain_most = HUGE_VAL},
                        {.seconds = {5e-3, 3e-3}, .gain_most = HUGE_VAL}};
    int of[] = {0, 1};
    CommandSearch s = {.r = &r,
                       .places = {.n = 2, .place = place},
                       .prices = {.npart = 2, .part = part, .nplace = 2, .part_of = of}};
    const PlaceGain *gain;
    assert_int_equal(command_gains(&s, 2, chosen, &gain), 2);
    assert_true(gain[0].before == 5e-3 && gain[0].position == &node[1]);
    assert_true(gain[1].before < 0 && !gain[1].expected && gain[1].position == &node[0]);
    assert_true(place_total(&gain[1]) == 0);
    arena_free(a);
}

static void a_profile_takes_no_longer_than_the_whole(void **state) {
    (void)state;
    double seconds[] = {6e-3, 2e-3};
    Profile p = {.known = true, .total = 10e-3, .other = 2e-3, .n = 2, .seconds = seconds};
    profile_fit(&p, 20e-3);
    assert_true(seconds[0] == 6e-3);
    profile_fit(&p, 5e-3);
    assert_true(fabs(seconds[0] - 3e-3) < 1e-12 && fabs(seconds[1] - 1e-3) < 1e-12);
    assert_true(fabs(p.other - 1e-3) < 1e-12 && p.total == 5e-3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_answered),
        cmocka_unit_test(batches_fit_into_memory),
        cmocka_unit_test(answers_may_come_in_any_order_and_may_be_missing),
        cmocka_unit_test(commands_that_end_are_noticed),
        cmocka_unit_test(a_file_that_kills_the_command_is_dropped),
        cmocka_unit_test(a_command_that_dies_at_the_first_file_is_given_up),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(a_hanging_command_is_given_up_and_killed),
        cmocka_unit_test(a_batch_ends_when_it_is_cancelled),
        cmocka_unit_test(no_time_at_all_is_no_time),
        cmocka_unit_test(a_path_with_a_newline_is_not_sent),
        cmocka_unit_test(a_place_gains_what_its_nodes_take),
        cmocka_unit_test(what_cannot_gain_is_not_timed),
        cmocka_unit_test(places_that_were_not_timed_are_listed),
        cmocka_unit_test(a_profile_takes_no_longer_than_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
