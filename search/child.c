/* child.c -- posix_spawn with standard input and output on files in memory. */
#include "search/child.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int run(char *const argv[], int in, int out) {
    posix_spawn_file_actions_t files;
    pid_t pid;
    int status = 0, failed = posix_spawn_file_actions_init(&files);
    if (failed) return errno = failed, -1;
    posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    failed = posix_spawnp(&pid, argv[0], &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    if (failed) return errno = failed, -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : (errno = ECANCELED, -1);
}

int child_run(Arena *a, char *const argv[], const Text *in, char **out, size_t *n) {
    Cleanup *file = ARENA_NEW(a, Cleanup, 2);
    int from = file_in_memory(in ? 1 : 0, &(Piece){in ? in->data : NULL, in ? in->size : 0}),
        to = file_in_memory(0, NULL), status = -1, why;
    file_cleanup(a, &file[0], from), file_cleanup(a, &file[1], to);
    struct stat s = {.st_size = 0};
    if (from >= 0 && to >= 0) status = run(argv, from, to);
    why = errno;
    if (status >= 0) fstat(to, &s);
    *out = arena_alloc(a, (size_t)s.st_size + 1);
    *n = (size_t)s.st_size;
    if (status >= 0 && pread(to, *out, *n, 0) != s.st_size) status = -1, why = EIO;
    cleanup_run(&file[0]), cleanup_run(&file[1]);
    errno = why;
    return status;
}
