/* picture_svg.c -- Graphviz's program as a child: its input and output are files in memory, so that neither side ever waits for the other. */
#include "search/picture.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool absent(Error *e, const char *why) {
    return error_set(e, E_ENVIRONMENT, "--html", "pictures need Graphviz's program dot (Debian: graphviz): %s", why);
}

/* Runs it with these files as standard input and output; the exit status, or -1 with errno. */
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
    if (!WIFEXITED(status) || WEXITSTATUS(status)) return errno = WIFEXITED(status) && WEXITSTATUS(status) == 127 ? ENOENT : ECANCELED, -1;
    return 0;
}

static int memory_file(const char *bytes, size_t n) {
    int fd = memfd_create("isomer", MFD_CLOEXEC);
    for (ssize_t got = 0; fd >= 0 && n; bytes += got, n -= (size_t)got)
        if ((got = write(fd, bytes, n)) <= 0) {
            close(fd);
            return -1;
        }
    if (fd >= 0) lseek(fd, 0, SEEK_SET);
    return fd;
}

static bool dot(char *argument, const Text *in, Arena *a, char **out, Error *e) {
    char name[] = "dot", *argv[] = {name, argument, NULL};
    int from = memory_file(in->data ? in->data : "", in->size), to = memory_file("", 0);
    struct stat s = {.st_size = 0};
    bool good = from >= 0 && to >= 0 && !run(argv, from, to) && !fstat(to, &s);
    int why = errno;
    *out = arena_alloc(a, (size_t)s.st_size + 1);
    good = good && pread(to, *out, (size_t)s.st_size, 0) == s.st_size;
    if (from >= 0) close(from);
    if (to >= 0) close(to);
    return good || absent(e, why == ECANCELED ? "it failed" : strerror(why));
}

bool picture_program(Arena *a, Error *e) {
    Text nothing = text_new(a);
    char version[] = "-V", *ignored;
    return dot(version, &nothing, a, &ignored, e);
}

bool picture_svg(Arena *a, const Text *text, int n, const char *svg[], Error *e) {
    char kind[] = "-Tsvg", *out;
    if (!n) return true;
    if (!dot(kind, text, a, &out, e)) return false;
    for (int k = 0; k < n; k++) {
        char *start = strstr(out, "<svg"), *end = start ? strstr(start, "</svg>") : NULL;
        if (!end) return absent(e, "its answer is not what was asked for");
        out = end + 6;
        svg[k] = arena_string(a, start, (size_t)(out - start));
    }
    return true;
}
