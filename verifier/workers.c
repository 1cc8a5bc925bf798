/* workers.c -- runs worker processes that verify rules. The parent gives each worker the number of
   one rule at a time and reads back one record: fixed fields, then texts with their lengths. If a
   worker dies, its rule is reported as unknown and the worker is replaced. Signals that end the
   program are read from a file descriptor, so that no finished work is lost. */
#include "verifier/workers.h"
#include "ops/base/file.h"
#include "verifier/solver.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JOBS_MAX = 256, TEXTS = 8 };
typedef struct WorkerRecord {
    int verdict, queries;
    unsigned classes;
    double ms;
    uint32_t length[TEXTS]; /* by text (texts_of), in bytes; UINT32_MAX for NULL */
} WorkerRecord;
typedef struct ProverWorker {
    pid_t pid;
    int to, from, rule; /* `to` and `from` are pipes; rule is -1 if idle */
} ProverWorker;
typedef struct Pool {
    Arena *arena;
    const RuleSet *set;
    const VerifyOptions *options;
    const WorkerOptions *how;
    WorkerDone done;
    void *user;
    Error *error;
    int next;        /* the next rule to give to a worker */
    int signals;     /* a file descriptor from which signals are read */
    sigset_t before; /* the signals that the caller had blocked */
    int n;
    ProverWorker v[JOBS_MAX];
} Pool;

static bool write_all(int fd, const void *data, size_t n) {
    for (const char *p = data; n;) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}
static bool read_all(int fd, void *data, size_t n) {
    for (char *p = data; n;) {
        ssize_t k = read(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

/* ---- the worker */

/* The place of text k of a result, in the order in which texts are sent. */
static const char **texts_of(VerifyResult *r, int k) {
    const char **v[TEXTS] = {&r->condition,   &r->all_ranks,  &r->condition_sources,
                             &r->category,    &r->why,        &r->counterexample,
                             &r->explanation, &r->obligations};
    return v[k];
}
static bool send_result(int fd, VerifyResult *r) {
    WorkerRecord x = {(int)r->verdict, r->queries, r->classes, r->ms, {0}};
    for (int k = 0; k < TEXTS; k++)
        x.length[k] = *texts_of(r, k) ? (uint32_t)strlen(*texts_of(r, k)) : UINT32_MAX;
    if (!write_all(fd, &x, sizeof x)) return false;
    for (int k = 0; k < TEXTS; k++)
        if (*texts_of(r, k) && !write_all(fd, *texts_of(r, k), x.length[k])) return false;
    return true;
}
bool rule_named(const Rule *r, const char *id) {
    return !strcmp(r->id, id) || !strcmp(r->name, id);
}

/* The address space in use, in bytes; 0 if not known. */
static uint64_t mapped_bytes(void) {
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%llu", &pages) != 1) pages = 0;
    fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
/* Limits the address space, except under AddressSanitizer: it reserves terabytes, so that any limit
   would be exceeded already. */
static void limit_memory(size_t bytes) {
    const uint64_t reserved = (uint64_t)1 << 40;
    struct rlimit limit = {bytes, bytes};
    if (bytes && mapped_bytes() < reserved) setrlimit(RLIMIT_AS, &limit);
}

/* Writes one file for each question, named by its digest. The file may exist already, from another
   rule or worker with the same question. */
static void write_obligations(Arena *a, const char *folder, const Rule *rule, VerifyResult *r) {
    Error e = {0};
    for (int k = 0; k < r->nobligation && e.kind == E_NONE; k++) {
        const Obligation *o = &r->obligation[k];
        const char *path = arena_format(a, "%s/%s.smt2", folder, o->digest);
        const char *text = arena_format(a, "; rule %s (%s)\n%s", rule->name, rule->id, o->text);
        if (access(path, F_OK)) file_write(path, text, strlen(text), &e);
    }
    if (e.kind == E_NONE) return;
    *r = (VerifyResult){.verdict = VERDICT_UNKNOWN,
                        .condition = "",
                        .all_ranks = "",
                        .condition_sources = "",
                        .category = "",
                        .ms = r->ms,
                        .queries = r->queries};
    r->why = arena_format(a, "its obligations could not be written: %s", e.reason);
}
/* The worker: verifies the rules whose numbers it reads, until there are no more. */
static _Noreturn void prove_jobs(const Pool *p, int from, int to) {
    int rule;
    limit_memory(p->how->memory);
    sigprocmask(SIG_SETMASK, &p->before, NULL);
    while (read_all(from, &rule, sizeof rule)) {
        Arena *a = arena_new(NULL, 0);
        VerifyOptions o = *p->options;
        o.explain = p->how->explain_id && rule_named(&p->set->v[rule], p->how->explain_id);
        VerifyResult r = verify_rule(a, &p->set->v[rule], &o);
        if (p->how->obligations) write_obligations(a, p->how->obligations, &p->set->v[rule], &r);
        if (!send_result(to, &r)) break;
        arena_free(a);
    }
    solver_finish();
    _exit(0);
}

/* ---- the parent */

static bool start_worker(Pool *p, ProverWorker *w) {
    int down[2], up[2];
    if (pipe(down))
        return error_set(p->error, E_ENVIRONMENT, "worker", "cannot create a pipe: %s",
                         strerror(errno));
    if (pipe(up)) {
        close(down[0]);
        close(down[1]);
        return error_set(p->error, E_ENVIRONMENT, "worker", "cannot create a pipe: %s",
                         strerror(errno));
    }
    pid_t pid = fork();
    if (!pid) {
        for (int k = 0; k < p->n; k++)
            if (p->v[k].pid) {
                close(p->v[k].to);
                close(p->v[k].from);
            }
        close(down[1]);
        close(up[0]);
        prove_jobs(p, down[0], up[1]);
    }
    close(down[0]);
    close(up[1]);
    *w = (ProverWorker){pid, down[1], up[0], -1};
    if (pid > 0) return true;
    close(down[1]);
    close(up[0]);
    w->pid = 0;
    return error_set(p->error, E_ENVIRONMENT, "worker", "cannot start a process: %s",
                     strerror(errno));
}
static void stop(ProverWorker *w, bool kill_it) {
    if (!w->pid) return;
    close(w->to);
    close(w->from);
    if (kill_it) kill(w->pid, SIGKILL);
    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR) continue;
    w->pid = 0;
}
static int next_rule(Pool *p) { /* the next rule that is not skipped; -1 if none */
    while (p->next < p->set->n && p->how->skip && p->how->skip[p->next]) p->next++;
    return p->next < p->set->n ? p->next++ : -1;
}
/* Gives the next rule to a worker, which is started if need be; stops the worker if there is no
   rule left. */
static bool give_job(Pool *p, ProverWorker *w) {
    int rule = next_rule(p);
    if (rule < 0) {
        stop(w, false);
        return true;
    }
    for (int try = 0; try < 2; try++) { /* a worker that died while it was idle is replaced */
        if (!w->pid && !start_worker(p, w)) return false;
        w->rule = rule;
        if (write_all(w->to, &rule, sizeof rule)) return true;
        stop(w, true);
    }
    return error_set(p->error, E_ENVIRONMENT, "worker", "a worker process does not accept work");
}
static bool receive_result(Pool *p, ProverWorker *w, VerifyResult *r) {
    WorkerRecord x;
    if (!read_all(w->from, &x, sizeof x)) return false;
    *r = (VerifyResult){
        .verdict = (Verdict)x.verdict, .classes = x.classes, .ms = x.ms, .queries = x.queries};
    for (int k = 0; k < TEXTS; k++) {
        if (x.length[k] == UINT32_MAX) continue;
        char *text = arena_alloc(p->arena, (size_t)x.length[k] + 1);
        if (!read_all(w->from, text, x.length[k])) return false;
        *texts_of(r, k) = text;
    }
    return true;
}
static bool finish_worker(Pool *p, ProverWorker *w) {
    VerifyResult r;
    int rule = w->rule;
    if (!receive_result(p, w, &r)) {
        r = (VerifyResult){.verdict = VERDICT_UNKNOWN,
                           .condition = "",
                           .all_ranks = "",
                           .condition_sources = "",
                           .category = "",
                           .why = "its worker process died: out of memory, or killed"};
        stop(w, true); /* give_job() starts another */
    }
    p->done(p->user, rule, &r);
    return give_job(p, w);
}
/* Takes the signal, so that it does not end the program once signals are no longer blocked. */
static bool signal_taken(Pool *p) {
    struct signalfd_siginfo info;
    read_all(p->signals, &info, sizeof info);
    return error_set(p->error, E_INTERRUPTED, "",
                     "stopped; after a run with -o or --json, --resume continues from here");
}
/* Collects results and gives out rules until all workers are stopped. */
static bool loop(Pool *p) {
    for (;;) {
        struct pollfd f[JOBS_MAX + 1] = {{.fd = p->signals, .events = POLLIN}};
        int n = 1, at[JOBS_MAX + 1];
        for (int k = 0; k < p->n; k++)
            if (p->v[k].pid) {
                at[n] = k;
                f[n++] = (struct pollfd){.fd = p->v[k].from, .events = POLLIN};
            }
        if (n == 1) return true;
        if (poll(f, (nfds_t)n, -1) < 0 && errno != EINTR)
            return error_set(p->error, E_ENVIRONMENT, "worker", "cannot wait for the workers: %s",
                             strerror(errno));
        if (f[0].revents) return signal_taken(p);
        for (int k = 1; k < n; k++)
            if (f[k].revents && !finish_worker(p, &p->v[at[k]])) return false;
    }
}
bool workers_run(Arena *a, const RuleSet *set, const VerifyOptions *o, const WorkerOptions *how,
                 WorkerDone done, void *user, Error *e) {
    Pool *p = ARENA_NEW(a, Pool, 1);
    sigset_t stops;
    *p = (Pool){
        .arena = a, .set = set, .options = o, .how = how, .done = done, .user = user, .error = e};
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    sigprocmask(SIG_BLOCK, &stops, &p->before);
    p->signals = signalfd(-1, &stops, SFD_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);
    p->n = how->jobs < 1 ? 1 : how->jobs > JOBS_MAX ? JOBS_MAX : how->jobs;
    bool ok = p->signals >= 0 ||
              error_set(e, E_ENVIRONMENT, "worker", "cannot receive signals: %s", strerror(errno));
    for (int k = 0; k < p->n && ok; k++) ok = give_job(p, &p->v[k]);
    ok = ok && loop(p);
    for (int k = 0; k < p->n; k++) stop(&p->v[k], true);
    if (p->signals >= 0) close(p->signals);
    sigprocmask(SIG_SETMASK, &p->before, NULL);
    return ok;
}
