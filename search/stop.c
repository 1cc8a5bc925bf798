/* stop.c -- stores amounts of work in the cost file. */
#include "search/stop.h"
#include <math.h>

/* A search that is repeated without some rules stops elsewhere than the first one. */
static const char *stop_key(const Stop *s) {
    const char *without = s->r->left_out;
    return arena_format(s->r->arena, "%s %s%s%s", s->r->source.digest, s->what,
                        without ? " without " : "", without ? without : "");
}

Stop stop_open(Run *r, const char *device, const char *what, double until) {
    Stop s = {.r = r, .device = device, .what = what, .until = until, .at = STOP_NEVER};
    double at;
    if (r->o->frozen && r->db && costdb_get(r->db, "stop", device, stop_key(&s), &at))
        s.at = (int)fmin(at, STOP_NEVER);
    return s;
}

bool stop_here(Stop *s, int done) {
    if (done < s->at && run_time_over(s->r, s->until)) s->at = done;
    return done >= s->at;
}

bool stop_keep(const Stop *s) {
    Run *r = s->r;
    const char *key = stop_key(s);
    if (r->o->frozen || !r->db) return true;
    return costdb_forget(r->db, "stop", s->device, key, r->error) &&
           (s->at == STOP_NEVER || costdb_put(r->db, "stop", s->device, key, s->at, r->error));
}

bool stop_number(Run *r, const char *device, const char *what, int here, int *n) {
    Stop kept = stop_open(r, device, what, 0);
    if (kept.at == STOP_NEVER) kept.at = here;
    *n = kept.at;
    return stop_keep(&kept);
}
