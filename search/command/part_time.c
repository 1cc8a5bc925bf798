/* part_time.c -- times parts on the target, and keeps the times in the cost file. */
#include "search/command/part_time.h"
#include "search/command/command_limits.h"
#include "search/command/part.h"
#include <math.h>
#include <unistd.h>

static const char *price_key(const Pricing *x, const PartPrice *p, const char *what) {
    return arena_format(x->r->arena, "part %s %s %s", p->before, p->after, what);
}

static const char *const times[] = {"before", "after"};
/* What is stored in place of times if there are none. */
static const char fails[] = "fails", not_written[] = "is not written";

/* Whether the run that measured stored this mark for the part. Only a frozen run relies on marks; a
   run that measures tries the part again. */
static bool has_mark(const Pricing *x, const PartPrice *p, const char *mark) {
    double any;
    return x->r->o->frozen &&
           costdb_get(x->r->db, "target", x->device, price_key(x, p, mark), &any);
}

bool part_time_find(const Pricing *x, PartPrice *p) {
    p->failed = has_mark(x, p, fails);
    const bool no_time = p->failed || has_mark(x, p, not_written);
    for (int k = 0; k < 2 && !no_time; k++)
        if (!costdb_get(x->r->db, "target", x->device, price_key(x, p, times[k]), &p->seconds[k]))
            return p->seconds[0] = p->seconds[1] = -1, false;
    p->expected = false;
    return true;
}

/* Stores a mark, or none (NULL). What an earlier run stored is forgotten: a frozen run repeats the
   last one. */
static bool put_mark(const Pricing *x, const PartPrice *p, const char *mark) {
    const char *const old[] = {fails, not_written};
    double any;
    for (int k = 0; k < 2; k++) {
        const char *key = price_key(x, p, old[k]);
        if (old[k] != mark && costdb_get(x->r->db, "target", x->device, key, &any) &&
            !costdb_forget(x->r->db, "target", x->device, key, x->r->error))
            return false;
    }
    return !mark ||
           costdb_put(x->r->db, "target", x->device, price_key(x, p, mark), 1, x->r->error);
}

static bool store_price(const Pricing *x, const PartPrice *p) {
    CostDb *db = x->r->db;
    if (!put_mark(x, p, p->failed ? fails : NULL)) return false;
    for (int k = 0; k < 2 && !p->failed; k++)
        if (!costdb_put(db, "target", x->device, price_key(x, p, times[k]), p->seconds[k],
                        x->r->error))
            return false;
    return true;
}

/* Times files of parts on the target. A small gain is timed again, and the smaller of both gains
   counts. */
static bool time_files(Pricing *x, int n, const char *const path[], double seconds[]) {
    const char *some[PART_BATCH + 1] = {path[0]};
    double again[PART_BATCH + 1];
    int which[PART_BATCH + 1], m = 1;
    if (!x->timer(x->user, n, path, seconds)) return false;
    for (int k = 1; k < n && seconds[0] > 0; k++)
        if (seconds[k] > TIMED_TWICE * seconds[0] && seconds[k] < PART_TIE * seconds[0])
            which[m] = k, some[m++] = path[k];
    if (m == 1) return true;
    if (!x->timer(x->user, m, some, again)) return false;
    for (int k = 1; k < m && again[0] > 0; k++)
        seconds[which[k]] = fmax(seconds[which[k]], seconds[0] * again[k] / again[0]);
    return true;
}

static const char *set_name(const Pricing *x, const PartPrice *p) {
    const int seed = x->places->set[x->places->place[p->place].set].seed;
    return seed < 0 ? "all rules" : x->r->library.rule[seed].rule->name;
}

static bool keep_times(Pricing *x, PartPrice *p, double before, double after) {
    p->expected = false;
    p->failed = before <= 0 || after <= 0;
    if (p->failed) return store_price(x, p);
    p->seconds[0] = before, p->seconds[1] = after;
    run_say(x->r, "%.1f s: a part of %d places: %.4f -> %.4f ms, %s", run_seconds(x->r), p->count,
            before * 1e3, after * 1e3, set_name(x, p));
    return store_price(x, p);
}

bool part_time_batch(Pricing *x, int n, const int list[]) {
    const char *path[PART_BATCH + 1] = {NULL}, *pair[2] = {NULL};
    int which[PART_BATCH], m = 0;
    double seconds[PART_BATCH + 1];
    for (int k = 0; k < n; k++) {
        if (!part_write(x, &x->part[list[k]], pair)) return false;
        path[0] = pair[0];
        if (pair[1]) which[m++] = list[k], path[m] = pair[1];
        else if (!put_mark(x, &x->part[list[k]], not_written)) return false;
    }
    bool good = !m || time_files(x, m + 1, path, seconds);
    x->batches += m > 0;
    for (int k = 0; k <= m; k++)
        if (path[k]) unlink(path[k]);
    for (int k = 0; k < m && good; k++)
        good = keep_times(x, &x->part[which[k]], seconds[0], seconds[1 + k]);
    return good;
}
