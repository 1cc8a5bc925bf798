/* discover.c -- answers all questions. The questions are independent, so threads take them one by
   one, and the answers to a question depend on that question alone. */
#include "generator/discover/discover.h"
#include "generator/discover/answer.h"
#include "ops/base/file.h"
#include "ops/base/process.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Done { /* what is known of a question */
    bool asked, resumed, large;
    char *rules; /* the candidate rules; from mem_realloc */
    AnswerStats stats;
    int n;
    Error error;
} Done;
typedef struct Discovery {
    const DiscoverOptions *o;
    const Questions *q;
    Done *done;
    double start;
    atomic_int next, finished;
    pthread_mutex_t lock; /* for calls of `progress` */
} Discovery;

static char *kept_copy(const Text *t) {
    char *copy = mem_realloc(NULL, t->size + 1);
    if (copy) memcpy(copy, t->size ? t->data : "", t->size + 1);
    return copy;
}

static void print_answers(const Question *q, const Answers *all, Text *out) {
    for (int k = 0; k < all->n; k++) {
        const Answer *x = &all->v[k];
        text_add(out, "# %s, depth %d, estimated ratio %.2f: %s.\n", x->how, x->depth, x->ratio,
                 *q->from ? q->from : "a question");
        if (x->model) text_add(out, "# model %s\n", x->model);
        text_add(out, "rule found-%s-%d\n%s\n", q->id, k + 1, x->body);
    }
}

/* ---- kept answers: the file DIR/ID. Its first line has the options that the answers depend on,
   its second line the counts */

static const char *kept_path(const DiscoverOptions *o, Arena *a, const Question *q) {
    return arena_format(a, "%s/%s", o->folder, q->id);
}
static const char *kept_key(const DiscoverOptions *o, Arena *a, const Question *q) {
    char digest[33];
    hash_hex(q->at, strlen(q->at), digest);
    return arena_format(a,
                        "# answers depth=%d steps=%d seed=%llu worse=%g models=%s at=%s version=%s",
                        o->depth, o->steps, (unsigned long long)o->seed, o->cost_ratio_most,
                        o->models ? o->models : "-", digest, ISOMER_VERSION);
}

static bool read_kept(const DiscoverOptions *o, Arena *a, const Question *q, Done *d) {
    char *data;
    size_t n;
    Error none = {0};
    const char *key = kept_key(o, a, q);
    AnswerStats *s = &d->stats;
    unsigned long long v[5];
    int at = 0;
    if (!file_read(a, kept_path(o, a, q), &data, &n, &none)) return false;
    if (strncmp(data, key, strlen(key)) || data[strlen(key)] != '\n') return false;
    data += strlen(key) + 1;
    if (sscanf(data, "# %llu %llu %llu %llu %llu %d\n%n", &v[0], &v[1], &v[2], &v[3], &v[4], &d->n,
               &at) != 6)
        return false;
    *s = (AnswerStats){v[0], v[1], v[2], v[3], v[4]};
    Text t = text_new(a);
    text_add(&t, "%s", data + at);
    return (d->rules = kept_copy(&t)) != NULL;
}

static bool write_kept(const DiscoverOptions *o, Arena *a, const Question *q, const Done *d,
                       Error *e) {
    const AnswerStats *s = &d->stats;
    Text t = text_new(a);
    text_add(&t, "%s\n# %llu %llu %llu %llu %llu %d\n%s", kept_key(o, a, q),
             (unsigned long long)s->typed, (unsigned long long)s->evaluated,
             (unsigned long long)s->solved, (unsigned long long)s->equations,
             (unsigned long long)s->untrue, d->n, d->rules);
    return file_write(kept_path(o, a, q), t.data, t.size, e);
}

static bool of_another_shard(const Discovery *x, const Question *q) {
    return x->o->nshard > 1 && (q - x->q->v) % x->o->nshard != x->o->shard;
}
/* Answers one question. Kept answers are used even when the time is over, and whichever shard found
   them. */
static bool answer_one(const Discovery *x, Arena *a, const Question *q, Done *d) {
    const DiscoverOptions *o = x->o;
    const bool late = x->o->seconds > 0 && process_clock() - x->start >= x->o->seconds;
    if (o->folder && read_kept(o, a, q, d)) return d->asked = d->resumed = true;
    if (late || of_another_shard(x, q)) return true;
    d->asked = true;
    const AnswerOptions options = {.depth = o->depth,
                                   .steps = o->steps,
                                   .seed = o->seed,
                                   .memory = o->memory / (size_t)o->jobs,
                                   .cost_ratio_most = o->cost_ratio_most,
                                   .models = o->models};
    Answers all = {0};
    if (!question_answer(a, q, &options, &all, &d->stats, &d->error)) return false;
    Text out = text_new(a);
    print_answers(q, &all, &out);
    d->n = all.n;
    if (!(d->rules = kept_copy(&out)))
        return error_set(&d->error, E_MEMORY, q->id, "out of memory for its answers");
    return !o->folder || write_kept(o, a, q, d, &d->error);
}

static void *answer_some(void *user) {
    Discovery *x = user;
    for (int k; (k = atomic_fetch_add(&x->next, 1)) < x->q->n;) {
        Done *d = &x->done[k];
        Escape escape = {.error = {.kind = E_NONE}};
        if (!setjmp(escape.here)) answer_one(x, arena_new(&escape, 0), &x->q->v[k], d);
        else if (x->o->memory && escape.error.kind == E_LIMIT) d->large = true;
        else d->error = escape.error;
        escape_free(&escape);
        int finished = atomic_fetch_add(&x->finished, 1) + 1;
        if (!x->o->progress) continue;
        pthread_mutex_lock(&x->lock);
        x->o->progress(x->o->user, finished, x->q->n, process_clock() - x->start);
        pthread_mutex_unlock(&x->lock);
    }
    return NULL;
}

static void run_threads(Discovery *x, Arena *a) {
    pthread_t *thread = ARENA_NEW(a, pthread_t, x->o->jobs);
    int n = 0;
    while (n + 1 < x->o->jobs && !pthread_create(&thread[n], NULL, answer_some, x)) n++;
    answer_some(x);
    for (int k = 0; k < n; k++) pthread_join(thread[k], NULL);
}

static bool collect_answers(const Discovery *x, Text *rules, DiscoverReport *r, Error *e) {
    bool good = true;
    for (int k = 0; k < x->q->n; k++) {
        Done *d = &x->done[k];
        if (good && d->error.kind != E_NONE) {
            char what[500];
            error_print(&d->error, what, sizeof what);
            good = error_set(e, d->error.kind, x->q->v[k].id, "%s", what);
        }
        if (d->rules && good) text_add(rules, "%s", d->rules);
        mem_free(d->rules);
        r->asked += d->asked;
        r->resumed += d->resumed;
        r->large += d->large;
        r->answered += d->n > 0;
        r->rules += (uint64_t)d->n;
        r->typed += d->stats.typed;
        r->evaluated += d->stats.evaluated;
        r->solved += d->stats.solved;
        r->equations += d->stats.equations;
        r->untrue += d->stats.untrue;
    }
    return good;
}

bool discover_answers(const DiscoverOptions *o, const Questions *q, Text *rules, DiscoverReport *r,
                      Error *e) {
    Discovery x = {.o = o, .q = q, .start = process_clock()};
    *r = (DiscoverReport){.questions = q->n};
    if (o->folder && !folder_make(o->folder, e)) return false;
    if (o->models && !folder_make(o->models, e)) return false;
    x.done = ARENA_NEW(q->arena, Done, q->n);
    pthread_mutex_init(&x.lock, NULL);
    run_threads(&x, q->arena);
    pthread_mutex_destroy(&x.lock);
    r->seconds = process_clock() - x.start;
    return collect_answers(&x, rules, r, e);
}
