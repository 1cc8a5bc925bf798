/* discover.c -- runs the programs discover-rules and verify-rules on the model as it was read, with
   its questions ordered by the target's profile if there is one. Rules are proved a few at a time,
   so that little work is lost when the time is over; all that was proved by then is kept. */
#include "search/discover.h"
#include "ops/base/file.h"
#include "ops/base/folder.h"
#include "rules/installed.h"
#include "search/child.h"
#include "search/helper.h"
#include "search/command/target_profile.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define ASKING 0.7 /* share of the time that is spent on questions */
enum { JOBS_MOST = 16, PROOFS = 4 /* rules that verify-rules is given at a time */ };

typedef struct Discovering {
    Run *r;
    RunFolder *folder;
    const char *model, *jobs; /* path of the model's file; the number of processes, as text */
    double start, until;      /* run_seconds at which it began and must end */
    RuleSet proved;
} Discovering;

bool own_rules_file(const Run *r, char **path, Error *e) {
    if (!r->o->rules_out)
        return own_rules_path(r->arena, r->o->measure_with ? r->o->measure_with : "isomer", path,
                              e);
    *path = arena_string(r->arena, r->o->rules_out, strlen(r->o->rules_out));
    return true;
}

static bool time_over(void *user) {
    const Discovering *d = user;
    return run_time_over(d->r, d->until);
}

static const char *ended_with(Run *r, const char *program, int status, const ChildSaid *said) {
    return arena_format(r->arena, "%s ended with status %d%s%s", program, status,
                        *said->reason ? ": " : "", said->reason);
}

static const char *file_in(const Discovering *d, const char *name) {
    return arena_format(d->r->arena, "%s/%s", d->folder->path, name);
}

/* ---- asking */

static bool write_original(Discovering *d) {
    Run *r = d->r;
    ModelWrite same = {.graph = &r->source.original, .map = &(ValueMap){0}};
    const char *name = path_name(r->in);
    const size_t n = strlen(name), end = n > 5 && !strcmp(name + n - 5, ".onnx") ? 5 : 0;
    d->model = file_in(d, arena_format(r->arena, "%.*s.onnx", (int)(n - end), name));
    return model_write(r->source.model, &same, d->model, r->error);
}

/* Writes the target's profile to a file and returns its path; NULL: the target provides none, or
   the error is set. */
static const char *write_profile(Discovering *d) {
    Run *r = d->r;
    const char *path = file_in(d, "profile");
    if (!profile_ask(r, d->model, d->folder->path)) return NULL;
    if (!r->profile) return NULL;
    return file_write(path, r->profile, strlen(r->profile), r->error) ? path : NULL;
}

/* Asks the questions. *path receives the file of candidate rules; NULL: there are none. */
static bool ask(Discovering *d, const char *program, const char **path) {
    Run *r = d->r;
    RunDiscovered *s = &r->stats.discovered;
    ChildSaid said;
    char seconds[40];
    const char *profile = write_profile(d);
    if (r->error->kind != E_NONE || run_cancelled(r)) return false;
    CommandLine w = {.arena = r->arena};
    const char *const words[] = {program,        d->model,    "--operators=3", "--depth=1",
                                 "--steps=1500", "--worse=2", "--jobs",        d->jobs};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) words_add(&w, words[k]);
    words_add_shapes(&w, &r->inputs);
    if (!r->o->measure_with) words_add(&w, "--no-bodies");
    if (profile) words_add(&w, "--profile"), words_add(&w, profile);
    snprintf(seconds, sizeof seconds, "--time=%.3f", ASKING * (d->until - run_seconds(r)));
    words_add(&w, seconds);
    words_add(&w, "--output");
    words_add(&w, *path = file_in(d, "candidates.rules"));
    const int status = child_run_until(r->arena, w.v, NULL, &said, time_over, d);
    if (run_cancelled(r)) return false;
    if (status) {
        s->note = status > 0 ? ended_with(r, "discover-rules", status, &said)
                             : "time ran out before the questions were listed; give --discover "
                               "more seconds";
        *path = NULL;
        return true;
    }
    sscanf(said.out, "questions %d, asked %d, resumed %*d, answered %d", &s->questions, &s->asked,
           &s->answered);
    return true;
}

/* ---- proving */

/* Tries to prove the rules from..to-1, and adds those that are proved to d->proved. */
static bool prove_some(Discovering *d, const char *program, const RuleSet *all, int from, int to) {
    Run *r = d->r;
    Text t = text_new(r->arena);
    ChildSaid said;
    const char *in = file_in(d, "some.rules"), *out = file_in(d, "verdicts.rules");
    RuleSet verdicts = {.arena = r->arena};
    for (int k = from; k < to; k++)
        text_add(&t, "%s", k > from ? "\n" : ""), rule_print(&all->v[k], &t);
    if (!file_write(in, t.data, t.size, r->error)) return false;
    CommandLine w = {.arena = r->arena};
    const char *const words[] = {program, in, "--quiet", "--jobs", d->jobs, "--output", out};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) words_add(&w, words[k]);
    unlink(out);
    const int status = child_run_until(r->arena, w.v, NULL, &said, time_over, d);
    if (run_cancelled(r)) return false;
    if (status > 1) r->stats.discovered.note = ended_with(r, "verify-rules", status, &said);
    if (status != 0 && status != 1) return true;
    if (!rules_read(r->arena, out, &verdicts, r->error)) return false;
    for (int k = 0; k < verdicts.n; k++) {
        Rule x = verdicts.v[k];
        if (x.verdict != VERDICT_PROVED || rules_find(&d->proved, x.id)) continue;
        /* The name depends on nothing but what the rule says. */
        x.name = arena_format(r->arena, "found-%s", x.id);
        rules_add(&d->proved, r->arena, &x);
    }
    return true;
}

static bool prove(Discovering *d, const char *program, const char *path) {
    Run *r = d->r;
    RuleSet all = {.arena = r->arena};
    if (!rules_read(r->arena, path, &all, r->error)) return false;
    r->stats.discovered.candidates = all.n;
    for (int k = 0, n; k < all.n && !time_over(d); k += n) {
        n = all.n - k < PROOFS ? all.n - k : PROOFS;
        if (!prove_some(d, program, &all, k, k + n)) return false;
    }
    r->stats.discovered.proved = d->proved.n;
    return true;
}

/* ---- keeping */

/* Writes the file with its old contents, byte for byte, followed by the proved rules that it
   lacks. */
static bool add_to_file(Discovering *d, const char *path) {
    Run *r = d->r;
    RunDiscovered *s = &r->stats.discovered;
    RuleSet old = {.arena = r->arena};
    Text t = text_new(r->arena);
    char *had;
    size_t size;
    if (!access(path, F_OK)) {
        if (!rules_read(r->arena, path, &old, r->error) ||
            !file_read(r->arena, path, &had, &size, r->error))
            return false;
        text_bytes(&t, had, size);
    }
    for (int k = 0; k < d->proved.n; k++) {
        if (rules_find(&old, d->proved.v[k].id)) continue;
        if (t.size) text_add(&t, "\n");
        rule_print(&d->proved.v[k], &t);
        s->fresh++;
    }
    return !s->fresh || file_write(path, t.data, t.size, r->error);
}

/* Waits for the lock. A signal that does not end the run does not end the wait. */
static bool lock_file(Run *r, int fd) {
    while (flock(fd, LOCK_EX))
        if (errno != EINTR || run_cancelled(r)) return false;
    return true;
}

/* Adds the proved rules to the file under a lock: if several runs add rules, each waits until the
   one before has finished. */
static bool keep(Discovering *d, const char *path) {
    Run *r = d->r;
    if (!r->o->rules_out && !folders_make(path, r->error)) return false;
    const char *lock = arena_format(r->arena, "%s.lock", path);
    const int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    const bool locked = fd >= 0 && lock_file(r, fd), good = locked && add_to_file(d, path);
    if (!locked && !run_cancelled(r))
        error_set(r->error, E_ENVIRONMENT, lock, "cannot lock: %s", strerror(errno));
    if (fd >= 0) close(fd);
    return good;
}

/* ---- all */

static bool discover(Discovering *d, char *out) {
    Run *r = d->r;
    const char *candidates;
    char *ask_with = program_find(r->arena, "discover-rules"),
         *prove_with = program_find(r->arena, "verify-rules");
    if (!ask_with || !prove_with)
        return error_set(r->error, E_ENVIRONMENT, "--discover",
                         "its program %s is not installed next to this one",
                         ask_with ? "verify-rules" : "discover-rules");
    if (!write_original(d) || !ask(d, ask_with, &candidates)) return false;
    if (candidates && !prove(d, prove_with, candidates)) return false;
    return !d->proved.n || keep(d, out);
}

bool run_discover(Run *r) {
    RunDiscovered *s = &r->stats.discovered;
    char *out;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (r->o->discover <= 0) return true;
    if (!own_rules_file(r, &out, r->error)) return false;
    Discovering d = {.r = r, .proved.arena = r->arena, .start = run_seconds(r)};
    d.until = d.start + r->o->discover;
    d.jobs = arena_format(r->arena, "%ld", cores < 1 ? 1 : cores > JOBS_MOST ? JOBS_MOST : cores);
    d.folder = run_folder(r->arena, r->error);
    if (!d.folder) return false;
    run_say(r, "discovering rules for %.0f s", r->o->discover);
    const bool good = discover(&d, out);
    cleanup_run(&d.folder->cleanup);
    s->path = out;
    s->seconds = run_seconds(r) - d.start;
    return good;
}
