/* child.c -- runs a program by posix_spawn, with standard input and output redirected to files in
   memory. */
#include "search/child.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

typedef struct Watch {
    bool (*stop)(void *user); /* NULL: the program runs to its end */
    void *user;
} Watch;

/* A program that is watched leads a process group of its own, so that all processes that it started
   can be killed with it. */
static int start_child(char *const argv[], const posix_spawn_file_actions_t *files, bool leads,
                       pid_t *pid) {
    posix_spawnattr_t attr;
    int failed = posix_spawnattr_init(&attr);
    if (failed) return failed;
    if (leads) failed = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
    if (!failed) failed = posix_spawnp(pid, argv[0], files, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    return failed;
}

static int await_child(pid_t pid, const Watch *watch) {
    const struct timespec pause = {.tv_nsec = 5000000};
    bool stopped = false;
    int status = 0;
    for (pid_t done = 0; !done;) {
        done = waitpid(pid, &status, watch->stop && !stopped ? WNOHANG : 0);
        if (done < 0 && errno != EINTR) return -1;
        if (done < 0) done = 0;
        else if (!done && (stopped = watch->stop(watch->user))) kill(-pid, SIGKILL);
        else if (!done) nanosleep(&pause, NULL);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : (errno = ECANCELED, -1);
}

static int run_child(char *const argv[], int in, int out, const Watch *watch) {
    posix_spawn_file_actions_t files;
    pid_t pid;
    int failed = posix_spawn_file_actions_init(&files);
    if (failed) return errno = failed, -1;
    posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    failed = start_child(argv, &files, watch->stop != NULL, &pid);
    posix_spawn_file_actions_destroy(&files);
    return failed ? (errno = failed, -1) : await_child(pid, watch);
}

int child_run_until(Arena *a, char *const argv[], const Text *in, char **out, size_t *n,
                    bool (*stop)(void *user), void *user) {
    Cleanup *file = ARENA_NEW(a, Cleanup, 2);
    int from = file_in_memory(in ? 1 : 0, &(Piece){in ? in->data : NULL, in ? in->size : 0}),
        to = file_in_memory(0, NULL), status = -1, why;
    file_cleanup(a, &file[0], from), file_cleanup(a, &file[1], to);
    struct stat s = {.st_size = 0};
    if (from >= 0 && to >= 0) status = run_child(argv, from, to, &(Watch){stop, user});
    why = errno;
    if (status >= 0) fstat(to, &s);
    *out = arena_alloc(a, (size_t)s.st_size + 1);
    *n = (size_t)s.st_size;
    if (status >= 0 && pread(to, *out, *n, 0) != s.st_size) status = -1, why = EIO;
    cleanup_run(&file[0]), cleanup_run(&file[1]);
    errno = why;
    return status;
}

int child_run(Arena *a, char *const argv[], const Text *in, char **out, size_t *n) {
    return child_run_until(a, argv, in, out, n, NULL, NULL);
}
