/* search_faults.c -- runs all of optimize-model's work while the environment fails: each allocation
   fails once, each write to a file fails once, and the process is killed at any moment. The exit
   code must be a documented one (a kernel that lacks memory is an environment error). The output
   must be the old file or the complete new one, with nothing left beside it. The cost file must
   open and accept entries. The process must hold as much as before: no additional memory, open
   file, mapping or child.

   Each run is a process of its own. With ISOMER_HEAVY set, all places of failure are tried instead
   of a sample, and two processes share a cost file for a minute instead of a second. */
#include "ops/base/file.h"
#include "ops/base/random.h"
#include "ops/base/text.h"
#include "graphs/plan/costdb.h"
#include "search/isomer.h"
#include "test/shared/onnx_build.h"
#include "test/shared/sample.h"
#include "graphs/world.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

typedef struct Plan {                     /* shared with the child processes */
    int64_t writes_left;                  /* calls until one fails; 0: none fails */
    bool reached;                         /* the failure happened */
    int64_t allocations, tried, failures; /* of the test every_allocation_fails_once */
} Plan;
static Plan *plan;
static char folder[64], in[80], out[80], costs[80];
static const char *target; /* the command of --measure-with; NULL: the built-in runtime */
/* Reading the whole library would take most of the time of a run, so only one test does. */
static const char *rules = "rules/library/activation.rules";
static const char old_output[] = "what was there before";

/* ---- the calls that change files; the library and SQLite call these instead of libc's */

static bool write_fails(void) {
    if (!plan || !plan->writes_left || --plan->writes_left) return false;
    plan->reached = true;
    errno = ENOSPC;
    return true;
}
ssize_t write(int fd, const void *bytes, size_t n) {
    return fd > 2 && write_fails() ? -1 : syscall(SYS_write, fd, bytes, n);
}
ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at) {
    return write_fails() ? -1 : syscall(SYS_pwrite64, fd, bytes, n, at);
}
/* No test simulates a power failure, and waiting for the disk would take most of the time. */
int fsync(int fd) { return (void)fd, write_fails() ? -1 : 0; }
int fdatasync(int fd) { return (void)fd, write_fails() ? -1 : 0; }
int rename(const char *from, const char *to) {
    return write_fails() ? -1 : (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}
int ftruncate64(int fd, off64_t n) {
    return write_fails() ? -1 : (int)syscall(SYS_ftruncate, fd, n);
}

/* ---- one run */

static bool heavy(void) { return getenv("ISOMER_HEAVY") != NULL; }

static void put_old(void) {
    Error e = {0};
    *plan = (Plan){0};
    assert_true(file_write(out, old_output, sizeof old_output, &e));
}

static int entries(const char *where) {
    int n = 0;
    DIR *d = opendir(where);
    assert_non_null(d);
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}

/* The number of open files, except those below /sys: Isomer opens none there, but a library may
   read the sizes of caches and leave the files open. If `say`, they are also printed. */
static int open_files(bool say) {
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d));) {
        char to[256] = "";
        if (readlinkat(dirfd(d), f->d_name, to, sizeof to - 1) <= 0 || !strncmp(to, "/sys/", 5))
            continue;
        n++;
        if (say) fprintf(stderr, "open: %s\n", to);
    }
    closedir(d);
    return n;
}

/* The number of mapped files that are a run's own: those in the folder, and files in memory. */
static int mappings(void) {
    char line[4096];
    int n = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f))
        n += strstr(line, folder) != NULL || strstr(line, "memfd:") != NULL;
    if (f) fclose(f);
    return n;
}

typedef struct Holdings { /* what this process holds */
    size_t bytes;
    int files, mappings;
    bool child;
} Holdings;

static Holdings holdings(void) {
    return (Holdings){mem_bytes(), open_files(false), mappings(), waitpid(-1, NULL, WNOHANG) >= 0};
}

/* Runs optimize-model's work. Returns its exit status, 99 for an error without a message, or 98 if
   the process holds more than before. */
static int optimize(void) {
    IsomerOptions o;
    IsomerResult result;
    const Holdings before = holdings();
    isomer_options(&o);
    o.cost = "measured", o.cost_db = costs, o.measure_with = target;
    if (!target) o.steps = 50;
    o.rules = rules;
    int code = isomer_optimize(in, out, &o, &result);
    if (code && !result.message[0]) code = 99;
    isomer_result_free(&result);
    const Holdings after = holdings();
    if (after.bytes == before.bytes && after.files == before.files &&
        after.mappings == before.mappings && !after.child)
        return code;
    fprintf(stderr, "code %d: %zd bytes, %d files, %d mappings more than before%s\n", code,
            (ssize_t)(after.bytes - before.bytes), after.files - before.files,
            after.mappings - before.mappings, after.child ? ", and a child" : "");
    if (after.files != before.files) open_files(true);
    return 98;
}

/* Starts a run in a process of its own, in which this allocation or this write fails (0: none). */
static pid_t start(int64_t allocation, int64_t write_call) {
    *plan = (Plan){0};
    pid_t child = fork();
    assert_true(child >= 0);
    if (child) return child;
    plan->writes_left = write_call;
    mem_fail_at(allocation);
    _exit(optimize());
}

static int finish(pid_t child) {
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    plan->writes_left = 0; /* from here on this process writes */
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* The input, whose last bytes every output has, and the seconds that a run takes. */
typedef struct Good {
    char *input;
    size_t n;
    double seconds;
} Good;

static bool opens(const char *file) {
    Error e = {0};
    World *w = graph_world_new(NULL, 0);
    Model *m = model_open(w, file, &e);
    bool good = m && model_graph(m)->nout == 1 && model_stats(m).opaque == 0;
    model_close(m);
    world_free(w);
    return good;
}

/* Which bytes the output has: 0: the old ones; 1: those of a whole model, whose rewriting depends
   on measured times; -1: neither. */
static int output_is(const Good *good) {
    enum { LAST = 4 };
    char *bytes;
    size_t size;
    int is = -1;
    Error e = {0};
    Arena *a = arena_new(NULL, 0);
    if (!file_read(a, out, &bytes, &size, &e)) size = 0;
    if (size == sizeof old_output && memcmp(bytes, old_output, size) == 0) is = 0;
    else if (size > LAST && memcmp(bytes + size - LAST, good->input + good->n - LAST, LAST) == 0)
        is = opens(out) ? 1 : -1;
    arena_free(a);
    return is;
}

static bool something_beside(void) {
    bool found = false;
    DIR *d = opendir(folder);
    for (struct dirent *f; (f = readdir(d));) found |= strstr(f->d_name, ".new-") != NULL;
    closedir(d);
    return found;
}

static void costs_are_whole(void) {
    Error e = {0};
    CostDb *d = costdb_open(NULL, costs, &e);
    double seconds = 0;
    if (!d) fail_msg("%s", e.reason);
    assert_true(costdb_put(d, "plan", "test", "entry", 0.5, &e));
    assert_true(costdb_get(d, "plan", "test", "entry", &seconds));
    costdb_close(d);
}

static void forget_costs(void) {
    const char *suffix[] = {"", "-wal", "-shm"};
    for (int k = 0; k < 3; k++) unlink(arena_format(arena, "%s%s", costs, suffix[k]));
}

/* The model is a matrix product with a bias, of whose two relus one can be removed and nothing
   else. */
static void write_model(void) {
    Text graph = text_new(arena), weight = text_new(arena);
    Error e = {0};
    float *values = arena_alloc(arena, 64 * 64 * sizeof *values);
    for (int k = 0; k < 64 * 64; k++) values[k] = (float)(k % 7) / 8;
    add_info(&graph, 11, "x", 512, 64);
    wire_put_int(&weight, 1, 64), wire_put_int(&weight, 1, 64), wire_put_int(&weight, 2, 1);
    text_field(&weight, 8, "w");
    wire_put_bytes(&weight, 9, values, 64 * 64 * sizeof *values);
    message(&graph, 5, &weight);
    add_tensor(&graph, "b", 64, 64 * sizeof *values);
    add_node(&graph, "MatMul", "x", "w", "m");
    add_node(&graph, "Add", "m", "b", "a");
    add_node(&graph, "Relu", "a", NULL, "r");
    add_node(&graph, "Relu", "r", NULL, "q");
    add_node(&graph, "Mul", "q", "b", "y");
    add_info(&graph, 12, "y", 512, 64);
    Text file = whole_of(&graph, 8, 17);
    assert_true(file_write(in, file.data, file.size, &e));
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A run in which nothing fails. */
static Good good_output(void) {
    Error e = {0};
    Good good;
    put_old();
    forget_costs();
    good.seconds = now();
    assert_int_equal(finish(start(0, 0)), 0);
    good.seconds = now() - good.seconds;
    assert_true(file_read(arena, in, &good.input, &good.n, &e));
    assert_int_equal(output_is(&good), 1);
    return good;
}

/* ---- the tests */

static void a_file_that_is_left_open_is_noticed(void **state) {
    (void)state;
    const int before = open_files(false);
    int ours = open(in, O_RDONLY), other = open("/sys/devices/system/cpu/present", O_RDONLY);
    assert_int_equal(open_files(false), before + 1);
    close(ours), close(other);
    assert_int_equal(open_files(false), before);
}

/* State of a run that forks at its allocations: the allocation fails in the child, whose result is
   checked before the run continues. */
static struct {
    const Good *good;
    int64_t n, tried, failures; /* allocations; children; children with an error */
    bool busy;                  /* a child is being run and checked, or this is the child */
} forks;

static const char *wrong_end(int code, int is) {
    if (code != 0 && code != 4 && code != 5) return "its exit status is not documented";
    if (is != (code == 0)) return "the output is not what it says";
    return something_beside() ? "something is left beside the output" : NULL;
}

static bool fork_and_fail(void) {
    if (forks.busy) return false;
    const int each = (++forks.n <= 100 || heavy() ? 1 : 32) * sample_step();
    if (forks.n % each) return false;
    forks.busy = true;
    pid_t child = fork();
    if (!child) return mem_fail_if(NULL), true;
    int code = child < 0 ? -1 : finish(child), is = output_is(forks.good);
    const char *wrong = wrong_end(code, is);
    if (is) put_old();
    if (wrong)
        fprintf(stderr, "allocation %lld: exit status %d, output %d: %s\n", (long long)forks.n,
                code, is, wrong),
            _exit(97);
    forks.busy = false;
    forks.tried++;
    forks.failures += code != 0;
    return false;
}

static void every_allocation_fails_once(void **state) {
    (void)state;
    const char *few = rules;
    rules = NULL;
    Good good = good_output();
    forks.good = &good;
    put_old();
    pid_t run = fork();
    if (!run) {
        mem_fail_if(fork_and_fail);
        int code = optimize();
        mem_fail_if(NULL);
        *plan = (Plan){.allocations = forks.n, .tried = forks.tried, .failures = forks.failures};
        _exit(code);
    }
    assert_int_equal(finish(run), 0);
    assert_int_equal(output_is(&good), 1);
    costs_are_whole();
    print_message("%lld allocations, %lld of them tried, %lld runs without memory\n",
                  (long long)plan->allocations, (long long)plan->tried, (long long)plan->failures);
    assert_true(plan->allocations > 1000 && plan->failures > 100 / sample_step());
    rules = few;
}

static int64_t counted;

static bool count(void) { return counted++, false; }

/* Counts the allocations of a run, in a process of its own. */
static int64_t count_allocations(void) {
    *plan = (Plan){0};
    pid_t child = fork();
    if (!child) {
        mem_fail_if(count);
        int code = optimize();
        mem_fail_if(NULL);
        plan->allocations = counted;
        _exit(code);
    }
    assert_int_equal(finish(child), 0);
    return plan->allocations;
}

/* Candidates are files in a folder of their own, which must be empty after any failure. Each
   candidate is faster than the last, so that the search continues while the command runs. */
static void nothing_is_left_of_a_search_on_a_target(void **state) {
    (void)state;
    int failures = 0;
    const char *candidates = arena_format(arena, "%s/candidates", folder);
    assert_int_equal(mkdir(candidates, 0777), 0);
    setenv("TMPDIR", candidates, 1);
    target = "n=99; while read p; do [ -z \"$p\" ] && echo || echo 0.$n $p; n=$((n - 3)); done";
    put_old();
    forget_costs();
    const int64_t n = count_allocations();
    for (int64_t k = 1; k < n; k += 1 + k / (heavy() ? 20 : 3))
        for (int end = 0; end < 2; end++) { /* the command starts late in a run */
            const int64_t fails = end ? n - k : k;
            put_old();
            forget_costs();
            int code = finish(start(fails, 0));
            if (code != 0 && code != 4 && code != 5)
                fail_msg("allocation %lld: exit status %d", (long long)fails, code);
            assert_int_equal(entries(candidates), 0);
            failures += code != 0;
        }
    print_message("%lld allocations, %d runs without memory\n", (long long)n, failures);
    assert_true(failures > 10);
    target = NULL;
    unsetenv("TMPDIR");
    rmdir(candidates);
}

static void every_write_fails_once(void **state) {
    (void)state;
    int failures = 0;
    Good good = good_output();
    for (int64_t k = 1;; k++) {
        put_old();
        forget_costs();
        int code = finish(start(0, k)), is = output_is(&good);
        if (code != 0 && code != 5 && code != 3)
            fail_msg("write %lld: exit status %d", (long long)k, code);
        if (is < 0 || (code == 0 && !is))
            fail_msg("write %lld: exit status %d, output %d", (long long)k, code, is);
        assert_false(something_beside());
        costs_are_whole();
        if (!plan->reached) break;
        failures += code != 0;
    }
    print_message("%d runs that could not write\n", failures);
    assert_true(failures > 0);
}

static void killed_at_any_moment(void **state) {
    (void)state;
    int killed = 0, replaced = 0;
    Good good = good_output();
    for (uint64_t k = 0; k < (heavy() ? 50 : 12); k++) {
        put_old();
        forget_costs();
        pid_t child = start(0, 0);
        usleep((useconds_t)((double)(random_at(7, k) % 1000) * 1200 * good.seconds));
        kill(child, SIGKILL);
        killed += finish(child) == -SIGKILL;
        int is = output_is(&good);
        assert_true(is >= 0);
        replaced += is;
        costs_are_whole();
    }
    print_message("%d killed, %d had written\n", killed, replaced);
    assert_true(killed > 0);
    for (DIR *d = opendir(folder); d; closedir(d), d = NULL)
        for (struct dirent *f; (f = readdir(d));)
            if (strstr(f->d_name, ".new-")) unlink(arena_format(arena, "%s/%s", folder, f->d_name));
}

/* Stores entries of its own and entries that the other process also stores, until the time is over.
   Returns how many, or -1 after an error. */
static int64_t share(int who, double seconds) {
    Error e = {0};
    CostDb *d = costdb_open(NULL, costs, &e);
    int64_t k = 0;
    for (time_t end = time(NULL) + (time_t)seconds; d && (!k || time(NULL) <= end); k++) {
        char key[64];
        snprintf(key, sizeof key, "own %d %lld", who, (long long)k);
        if (!costdb_put(d, "step", "cpu", key, 1.0 + (double)k, &e)) return -1;
        snprintf(key, sizeof key, "both %lld", (long long)k);
        if (!costdb_put(d, "step", "cpu", key, who ? 2 : 3, &e)) return -1;
    }
    costdb_close(d);
    return d ? k : -1;
}

static void two_processes_share_costs(void **state) {
    (void)state;
    int64_t *count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    forget_costs();
    pid_t child[2];
    for (int who = 0; who < 2; who++)
        if (!(child[who] = fork())) {
            count[who] = share(who, heavy() ? 60 : 1);
            _exit(0);
        }
    for (int who = 0; who < 2; who++) assert_int_equal(finish(child[who]), 0);
    Error e = {0};
    CostDb *d = costdb_open(NULL, costs, &e);
    assert_non_null(d);
    for (int who = 0; who < 2; who++) {
        assert_true(count[who] > 0);
        for (int64_t k = 0; k < count[who]; k++) {
            double own, both;
            assert_true(costdb_get(d, "step", "cpu",
                                   arena_format(arena, "own %d %lld", who, (long long)k), &own));
            assert_true(own == 1.0 + (double)k);
            assert_true(costdb_get(d, "step", "cpu", arena_format(arena, "both %lld", (long long)k),
                                   &both));
            assert_true(both == (k < count[1] ? 2 : 3));
        }
    }
    costdb_close(d);
    print_message("%lld and %lld entries\n", (long long)count[0], (long long)count[1]);
    munmap(count, 4096);
}

/* Every process finds no file, or one that another process has just begun. */
static void processes_start_one_cost_file(void **state) {
    (void)state;
    enum { ROUNDS = 40, PROCESSES = 4 };
    for (int round = 0; round < ROUNDS; round++) {
        pid_t child[PROCESSES];
        forget_costs();
        for (int who = 0; who < PROCESSES; who++)
            if (!(child[who] = fork())) {
                Error e = {0};
                CostDb *d = costdb_open(NULL, costs, &e);
                if (!d) fprintf(stderr, "%s\n", e.reason);
                costdb_close(d);
                _exit(!d);
            }
        int failed = 0;
        for (int who = 0; who < PROCESSES; who++) failed += finish(child[who]) != 0;
        assert_int_equal(failed, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_left_open_is_noticed),
        cmocka_unit_test(every_allocation_fails_once),
        cmocka_unit_test(nothing_is_left_of_a_search_on_a_target),
        cmocka_unit_test(every_write_fails_once),
        cmocka_unit_test(killed_at_any_moment),
        cmocka_unit_test(two_processes_share_costs),
        cmocka_unit_test(processes_start_one_cost_file),
    };
    arena = arena_new(NULL, 0);
    plan = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    strcpy(folder, "/tmp/isomer-faults-XXXXXX");
    if (plan == MAP_FAILED || !mkdtemp(folder)) return 1;
    snprintf(in, sizeof in, "%s/in.onnx", folder);
    snprintf(out, sizeof out, "%s/out.onnx", folder);
    snprintf(costs, sizeof costs, "%s/costs", folder);
    write_model();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(in), unlink(out);
    forget_costs();
    rmdir(folder);
    arena_free(arena);
    return failed;
}
