/* forks.c -- optimize-forks [FILE] runs optimize-model many times without reading the rules again
   each time. One parent process reads the rules (those of FILE, if one is given) and forks a child
   for every run.

   A line "MESSAGES\tARGUMENT\t.." on standard input is one run: the child calls the program's main
   with these arguments and with its standard error in the file MESSAGES. The answer is a line
   "STATUS SECONDS KB": the status as wait4 gives it, the wall-clock time, and the peak memory of
   the child.

   The program is linked with optimize-model's own objects, of which the Makefile's --wrap replaces
   a few functions. A run does what optimize-model does, except that the rules enter the World
   before the model instead of after it, since a child starts with the World and the rules of its
   parent. When memory that the parent allocated causes a failure, the failure is raised in the
   child's Escape; the child does not free the parent's memory. */
#include "ops/backend/backend.h"
#include "search/library.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Limits of a run: its CPU time and elapsed time, the words and the bytes of its line. */
enum { CPU_SECONDS = 60, SECONDS = 240, WORDS = 64, LINE = 1 << 14 };

World *__real_graph_world_new(Escape *, size_t limit);
bool __real_library_open(World *, Arena *, const LibraryOptions *, Library *, Error *);
_Noreturn void __real_escape_raise(Escape *, ErrorKind, const char *format, ...);
int __real_main(int argc, char **argv);
void __real_world_free(World *);
void __wrap_world_free(World *);
void __sanitizer_purge_allocator(void) __attribute__((weak));
World *__wrap_graph_world_new(Escape *, size_t limit);
bool __wrap_library_open(World *, Arena *, const LibraryOptions *, Library *, Error *);
_Noreturn void __wrap_escape_raise(Escape *, ErrorKind, const char *format, ...);
int __wrap_main(int argc, char **argv);

static struct { /* what the parent prepared, and the Escape of the child that uses it */
    Escape escape, *user;
    World *w;
    const char *rules; /* the file of rules; NULL: the library */
    Library library;
    bool is_child;
} ready;

void __wrap_world_free(World *w) {
    if (w != ready.w) __real_world_free(w);
}

World *__wrap_graph_world_new(Escape *escape, size_t limit) {
    if (!ready.is_child || ready.user) return __real_graph_world_new(escape, limit);
    ready.user = escape;
    return ready.w;
}

static bool same_rules(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }
/* A command as target has no discovered rules, and the built-in runtime has none either (see
   no_discovered). */
static bool same_target(const char *a) { return !strcmp(a, "isomer") || strchr(a, ' '); }

bool __wrap_library_open(World *w, Arena *a, const LibraryOptions *o, Library *l, Error *e) {
    if (!ready.is_child || w != ready.w || !same_rules(o->rules, ready.rules) ||
        !same_target(o->target))
        return __real_library_open(w, a, o, l, e);
    *l = ready.library;
    return library_choose(l, o, e);
}

void __wrap_escape_raise(Escape *escape, ErrorKind kind, const char *format, ...) {
    char reason[sizeof escape->error.reason];
    va_list rest;
    va_start(rest, format);
    vsnprintf(reason, sizeof reason, format, rest);
    va_end(rest);
    __real_escape_raise(escape == &ready.escape ? ready.user : escape, kind, "%s", reason);
}

static bool no_discovered(const RuleSet *set, Error *e) {
    for (int k = 0; k < set->n; k++)
        if (strstr(set->v[k].file, "/discovered/"))
            return error_set(e, E_INVALID, set->v[k].file,
                             "commands as targets do not have these rules: read them apart");
    return true;
}

static bool prepare(void) {
    Error e = {0};
    char reason[256] = "";
    LibraryOptions options = {.rules = ready.rules, .target = "isomer"};
    ready.w = __real_graph_world_new(&ready.escape, 0);
    Device *device = NULL;
    const Backend *cpu = backend_open("cpu", &e); /* also opens its libraries */
    if (cpu) device = cpu->open("", reason, sizeof reason);
    if (device) cpu->close(device);
    if (__real_library_open(ready.w, arena_new(&ready.escape, 0), &options, &ready.library, &e) &&
        no_discovered(&ready.library.set, &e)) {
        /* Memory freed so far need not stay in the sanitizer's quarantine in every child. */
        if (__sanitizer_purge_allocator) __sanitizer_purge_allocator();
        return true;
    }
    fprintf(stderr, "optimize-forks: %s: %s\n", e.place, e.reason);
    return false;
}

static void child(int argc, char **argv) {
    struct rlimit cpu = {CPU_SECONDS, CPU_SECONDS + 5};
    struct itimerval clock = {.it_value.tv_sec = SECONDS};
    int messages = open(argv[0], O_WRONLY | O_CREAT | O_TRUNC, 0666),
        nothing = open("/dev/null", O_RDWR);
    if (dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0 ||
        dup2(messages, STDERR_FILENO) < 0)
        _exit(99);
    if (setrlimit(RLIMIT_CPU, &cpu) || setitimer(ITIMER_REAL, &clock, NULL)) _exit(99);
    ready.is_child = true;
    int code = __real_main(argc, argv);
    fflush(NULL);
    _exit(code); /* skips the exit handlers of libraries that the parent opened */
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool serve(char *line) {
    char *argv[WORDS + 1], *rest = NULL;
    int argc = 0, status;
    struct rusage used;
    for (char *word = strtok_r(line, "\t\n", &rest); word && argc < WORDS;
         word = strtok_r(NULL, "\t\n", &rest))
        argv[argc++] = word;
    argv[argc] = NULL;
    double start = now();
    pid_t pid = argc ? fork() : -1;
    if (!pid) child(argc, argv);
    if (pid < 0 || wait4(pid, &status, 0, &used) != pid) return false;
    printf("%d %.3f %ld\n", status, now() - start, used.ru_maxrss);
    return !fflush(stdout);
}

int __wrap_main(int argc, char **argv) {
    char line[LINE];
    if (argc > 1) ready.rules = argv[1];
    if (!prepare()) return 5;
    while (fgets(line, sizeof line, stdin))
        if (!serve(line)) return 5;
    return 0;
}
