/* child.c -- runs a program by posix_spawn, with standard input, output and error redirected to
   files in memory. */
#include "search/child.h"
#include "ops/base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
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
    sigset_t usual; /* what this program may ignore */
    sigemptyset(&usual), sigaddset(&usual, SIGPIPE);
    failed = posix_spawnattr_setsigdefault(&attr, &usual);
    if (!failed)
        failed = posix_spawnattr_setflags(
            &attr, (short)(POSIX_SPAWN_SETSIGDEF | (leads ? POSIX_SPAWN_SETPGROUP : 0)));
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

static int run_child(char *const argv[], const int fd[3], const Watch *watch) {
    posix_spawn_file_actions_t files;
    pid_t pid;
    int failed = posix_spawn_file_actions_init(&files);
    if (failed) return errno = failed, -1;
    for (int k = 0; k < 3; k++) posix_spawn_file_actions_adddup2(&files, fd[k], k);
    failed = start_child(argv, &files, watch->stop != NULL, &pid);
    posix_spawn_file_actions_destroy(&files);
    return failed ? (errno = failed, -1) : await_child(pid, watch);
}

/* Returns what a file holds, with a 0 at its end; NULL with errno set: it cannot be read. */
static char *read_back(Arena *a, int fd, size_t *n) {
    struct stat s;
    if (fstat(fd, &s)) return NULL;
    char *text = arena_alloc(a, (size_t)s.st_size + 1);
    *n = (size_t)s.st_size;
    if (pread(fd, text, *n, 0) == s.st_size) return text;
    errno = EIO;
    return NULL;
}

const char *child_last_line(Arena *a, const char *text) {
    const char *found = "";
    for (size_t n; *text; text += n, text += *text == '\n')
        if ((n = strcspn(text, "\n"))) found = arena_string(a, text, n);
    return found;
}

int child_run_until(Arena *a, char *const argv[], const Text *in, ChildSaid *said,
                    bool (*stop)(void *user), void *user) {
    Cleanup *file = ARENA_NEW(a, Cleanup, 3);
    const Piece input = {in ? in->data : NULL, in ? in->size : 0};
    int fd[3], status = -1;
    size_t n;
    bool made = true;
    for (int k = 0; k < 3; k++) {
        fd[k] = file_in_memory(k == 0 && in ? 1 : 0, &input);
        file_cleanup(a, &file[k], fd[k]);
        made &= fd[k] >= 0;
    }
    if (made) status = run_child(argv, fd, &(Watch){stop, user});
    int why = errno;
    *said = (ChildSaid){.out = arena_alloc(a, 1), .reason = ""};
    char *out = status >= 0 ? read_back(a, fd[1], &said->n) : NULL,
         *error = status >= 0 ? read_back(a, fd[2], &n) : NULL;
    if (out) said->out = out;
    else if (status >= 0) status = -1, why = EIO;
    if (error) said->reason = child_last_line(a, error);
    for (int k = 0; k < 3; k++) cleanup_run(&file[k]);
    errno = why;
    return status;
}

int child_run(Arena *a, char *const argv[], const Text *in, ChildSaid *said) {
    return child_run_until(a, argv, in, said, NULL, NULL);
}
