/* target.c -- runs the measuring command as a child process, connected by a socket pair: writing to
   a process that died then gives an error instead of a signal, so the caller's signal handling is
   left alone. */
#include "search/command/target.h"
#include "ops/base/process.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* LINE: bytes of a line, at most. PATIENCE_MS: how long target_stop waits for the process to end.
   ASK_MS: how often cancellation is asked for. ENDING_MS: how long target_ended waits for the exit
   status. */
enum { LINE = 8192, PATIENCE_MS = 3000, ASK_MS = 100, ENDING_MS = 1000 };
struct Target {
    const char *command;
    pid_t pid;
    int fd;
    bool failed; /* it failed or broke the protocol: nothing more is sent to it */
    bool ended;  /* its process ended by itself: it can be started again */
    /* Asked every ASK_MS, because a signal may come just before a wait. NULL: batches are not
       cancelled. */
    bool (*stop)(void *user);
    void *user;
    double memory; /* bytes that the files of a batch may take together */
    size_t used;
    char buffer[LINE];
};

static bool start_fails(Error *e) {
    return error_set(e, E_ENVIRONMENT, "--measure-with", "cannot start the measuring command: %s",
                     strerror(errno));
}

/* Starts the target's process and forgets what an earlier one left. */
static bool start_process(Target *t, Error *e) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return start_fails(e);
    const pid_t pid = fork();
    if (pid == 0) {
        /* A process group of its own, so that stopping it also stops what the shell started. */
        setpgid(0, 0);
        dup2(pair[1], STDIN_FILENO);
        dup2(pair[1], STDOUT_FILENO);
        signal(SIGPIPE, SIG_DFL); /* which this program may ignore */
        execl("/bin/sh", "sh", "-c", t->command, (char *)NULL);
        _exit(127);
    }
    const int why = errno;
    close(pair[1]);
    if (pid < 0) return close(pair[0]), errno = why, start_fails(e);
    setpgid(pid, pid); /* in both processes, since either may run first */
    t->pid = pid, t->fd = pair[0];
    t->ended = false, t->used = 0;
    return true;
}

/* Waits for the process, after killing it and all that it started if `by_force`, and closes the
   connection. */
static void end_process(Target *t, bool by_force) {
    if (t->pid < 0) return;
    if (by_force) kill(-t->pid, SIGKILL);
    while (waitpid(t->pid, NULL, 0) < 0 && errno == EINTR) {}
    close(t->fd);
    t->pid = -1;
}

Target *target_start(const char *command, double memory, Error *e) {
    Target *t = mem_realloc(NULL, sizeof *t);
    if (!t) return start_fails(e), NULL;
    *t = (Target){.command = command, .memory = memory};
    if (start_process(t, e)) return t;
    mem_free(t);
    return NULL;
}

static bool target_fails(Error *e, const char *what) {
    return error_set(e, E_ENVIRONMENT, "--measure-with", "%s", what);
}

/* Reports how the process ended, or that it only closed its output. The process can still be waited
   for (target_stop). */
static bool target_ended(Target *t, Error *e) {
    enum { NOT_FOUND = 127 }; /* exit status of a shell that did not find the command */
    siginfo_t how = {0};
    for (int waited = 0; waited < ENDING_MS && !how.si_pid; waited += 20) {
        const struct timespec nap = {.tv_nsec = 20 * 1000 * 1000};
        nanosleep(&nap, NULL);
        if (waitid(P_PID, (id_t)t->pid, &how, WEXITED | WNOHANG | WNOWAIT)) break;
    }
    if (!how.si_pid)
        return target_fails(
            e, "the measuring command closed its output; it must answer until its input "
               "ends");
    t->ended = true;
    if (how.si_code != CLD_EXITED)
        return error_set(e, E_ENVIRONMENT, "--measure-with",
                         "the measuring command was killed by signal %d before it answered",
                         how.si_status);
    if (how.si_status == NOT_FOUND)
        return error_set(e, E_ENVIRONMENT, "--measure-with",
                         "the shell found no such command, and it is not the name of a target "
                         "either (such as onnxruntime)");
    return error_set(e, E_ENVIRONMENT, "--measure-with",
                     "the measuring command ended with status %d before it answered",
                     how.si_status);
}

static bool send_all(Target *t, const char *text, size_t n, Error *e) {
    while (n) {
        ssize_t sent = send(t->fd, text, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return target_ended(t, e);
        text += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* Reads the next line, without its newline. The buffer keeps what follows it. */
static bool read_line(Target *t, double until, char *line, Error *e) {
    for (;;) {
        char *end = memchr(t->buffer, '\n', t->used);
        if (end) {
            size_t n = (size_t)(end - t->buffer);
            memcpy(line, t->buffer, n);
            line[n] = 0;
            t->used -= n + 1;
            memmove(t->buffer, end + 1, t->used);
            return true;
        }
        if (t->used == LINE)
            return target_fails(e, "the measuring command sent a line that is too long");
        if (t->stop && t->stop(t->user))
            return error_set(e, E_INTERRUPTED, "--measure-with", "stopped; no model was written");
        const double left = until - process_clock();
        struct pollfd p = {.fd = t->fd, .events = POLLIN};
        if (left <= 0) return target_fails(e, "the measuring command did not answer in time");
        const int ready = poll(&p, 1, left < ASK_MS / 1e3 ? (int)(left * 1000) + 1 : ASK_MS);
        if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
        if (ready < 0)
            return error_set(e, E_ENVIRONMENT, "--measure-with",
                             "cannot read from the measuring command: %s", strerror(errno));
        ssize_t got = recv(t->fd, t->buffer + t->used, LINE - t->used, 0);
        if (got <= 0) return target_ended(t, e);
        t->used += (size_t)got;
    }
}

static Timing *timing_find(int n, Timing *v, const char *path, size_t size) {
    for (int k = 0; k < n; k++)
        if (strlen(v[k].path) == size && !memcmp(v[k].path, path, size)) return &v[k];
    return NULL;
}

static bool take_answer(int n, Timing *v, char *line, Error *e) {
    char *end;
    bool fail = !strncmp(line, "FAIL ", 5);
    double seconds = fail ? -1 : strtod(line, &end);
    char *path = fail ? line + 5 : end + 1;
    if (!fail && (end == line || *end != ' ' || !(seconds >= 0) || seconds > 1e9))
        return error_set(e, E_ENVIRONMENT, "--measure-with",
                         "the measuring command answered '%.80s', which is neither SECONDS PATH "
                         "nor FAIL PATH REASON",
                         line);
    size_t size = strlen(path);
    Timing *t = timing_find(n, v, path, size);
    for (char *p = path; fail && !t && (p = strchr(p, ' ')); p++)
        t = timing_find(n, v, path, size = (size_t)(p - path)); /* a path may contain spaces */
    if (!t)
        return error_set(
            e, E_ENVIRONMENT, "--measure-with",
            "the measuring command answered '%.80s', but was not asked about this file", line);
    t->seconds = seconds;
    if (fail)
        snprintf(t->reason, sizeof t->reason, "%s",
                 path[size] ? path + size + 1 : "no reason given");
    else if (seconds <= 0) snprintf(t->reason, sizeof t->reason, "the answer was 0 seconds");
    return true;
}

static bool time_batch(Target *t, int n, Timing *v, double timeout_seconds, Error *e) {
    char line[LINE];
    double until = process_clock() + timeout_seconds;
    for (int k = 0; k < n; k++) {
        v[k].seconds = -1;
        snprintf(v[k].reason, sizeof v[k].reason, "no answer");
        if (strchr(v[k].path, '\n')) return target_fails(e, "a path with a newline cannot be sent");
        if (!send_all(t, v[k].path, strlen(v[k].path), e) || !send_all(t, "\n", 1, e)) return false;
    }
    if (!send_all(t, "\n", 1, e)) return false;
    for (;;) {
        if (!read_line(t, until, line, e)) return false;
        if (!*line) return true;
        if (!take_answer(n, v, line, e)) return false;
    }
}

/* Returns the end of the batch that begins with v[from] and, beside it, contains the first file of
   all. */
static int batch_end(const Target *t, int n, const Timing *v, int from) {
    double bytes = v->memory;
    int end = from;
    while (end < n && (end == from || bytes + v[end].memory <= t->memory)) bytes += v[end++].memory;
    return end;
}

/* Times v[from..end) in one batch with the first file, which takes the place of v[from - 1] for as
   long as the batch lasts. If the first file has a time from an earlier batch, the others' times
   are scaled to that one. */
static bool time_with_first(Target *t, int from, int end, Timing *v, double timeout, Error *e) {
    const double known = v[0].seconds;
    const Timing before = v[from - 1];
    v[from - 1] = v[0];
    const bool good = time_batch(t, end - from + 1, v + from - 1, timeout, e);
    const Timing first = v[from - 1];
    v[from - 1] = before;
    if (known <= 0) v[0] = first;
    else v[0].seconds = known;
    for (int k = from; k < end && good && known > 0; k++) {
        if (v[k].seconds <= 0) continue;
        if (first.seconds > 0) v[k].seconds *= known / first.seconds;
        else
            v[k].seconds = -1, snprintf(v[k].reason, sizeof v[k].reason,
                                        "the original, with which it is compared, failed");
    }
    return good;
}

/* Times v[from..end) with the first file. If the process ends meanwhile, it is started again, and
   each half of the files is timed by itself, down to the file at which it ends: that one fails. If
   it ends at the first file alone, that is an error. */
static bool time_or_split(Target *t, int from, int end, Timing *v, double timeout, Error *e) {
    if (time_with_first(t, from, end, v, timeout, e)) return true;
    if (!t->ended || from == end) return false;
    const Error why = *e;
    *e = (Error){0};
    end_process(t, true);
    if (!start_process(t, e)) return false;
    if (v[0].seconds <= 0 && !time_with_first(t, 1, 1, v, timeout, e)) return false;
    const int middle = from + (end - from) / 2;
    if (v[0].seconds > 0 && middle > from)
        return time_or_split(t, from, middle, v, timeout, e) &&
               time_or_split(t, middle, end, v, timeout, e);
    for (int k = from; k < end; k++) {
        v[k].seconds = -1;
        snprintf(v[k].reason, sizeof v[k].reason, "%.199s", why.reason);
    }
    return true;
}

bool target_measure(Target *t, int n, Timing *v, double timeout_seconds, Error *e) {
    v[0].seconds = 0;
    for (int from = 1, end; !t->failed; from = end) {
        end = batch_end(t, n, v, from);
        t->failed = !time_or_split(t, from, end, v, timeout_seconds, e);
        if (end >= n || v[0].seconds <= 0) break;
    }
    return !t->failed;
}

void target_cancel(Target *t, bool (*stop)(void *user), void *user) {
    t->stop = stop, t->user = user;
}

void target_stop(Target *t) {
    if (!t) return;
    if (t->pid >= 0) shutdown(t->fd, SHUT_WR);
    siginfo_t how = {0};
    int waited = t->failed || t->pid < 0 ? PATIENCE_MS : 0;
    while (waited < PATIENCE_MS && !how.si_pid &&
           !waitid(P_PID, (id_t)t->pid, &how, WEXITED | WNOHANG | WNOWAIT)) {
        const struct timespec nap = {.tv_nsec = 20 * 1000 * 1000};
        if (!how.si_pid) nanosleep(&nap, NULL);
        waited += 20;
    }
    end_process(t, !how.si_pid);
    mem_free(t);
}
