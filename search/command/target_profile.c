/* target_profile.c -- asks the helper profile-onnxruntime for a profile, keeps it in the cost file,
   and computes what the nodes would take if each ran as fast as the machine computes or moves its
   data (the roofline). */
#include "search/command/target_profile.h"
#include "graphs/node_times.h"
#include "search/child.h"
#include "search/cost_model.h"
#include "search/helper.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 10 };   /* nodes in the list of those that lose most */
#define SHOW_FROM 0.01 /* a node is shown if it loses more than this share of all time lost */

/* ---- asking */

static bool profile_known(Profile *p) {
    return p->known = p->total > 0 && p->flops > 0 && p->bytes > 0;
}

static void read_times(Profile *p, const char *text) {
    NodeTimes t = {.n = p->n, .seconds = p->seconds};
    node_times_read(&t, text);
    p->flops = t.flops, p->bytes = t.bytes;
    p->total = p->other = t.other;
    for (int k = 0; k < p->n; k++) p->total += p->seconds[k];
}

/* ---- in the cost file, where nodes that take no time have no entry; that of the FLOPs, which is
   written last, says that the profile is complete */

enum { KEPT_FLOPS = -3, KEPT_BYTES, KEPT_OTHER };

static double *kept_at(Profile *p, int k) {
    return k == KEPT_FLOPS   ? &p->flops
           : k == KEPT_BYTES ? &p->bytes
           : k == KEPT_OTHER ? &p->other
                             : &p->seconds[k];
}

static const char *profile_key(const Run *r, int k) {
    return arena_format(r->arena, "%s profile %d", r->source.digest, k);
}

static bool look_up(const Run *r, const char *device, Profile *p) {
    for (int k = KEPT_FLOPS; k < p->n; k++) {
        double *x = kept_at(p, k);
        if (!costdb_get(r->db, "target", device, profile_key(r, k), x)) *x = 0;
        p->total += k >= KEPT_OTHER ? *x : 0;
        if (k == KEPT_FLOPS && *x <= 0) return false;
    }
    return profile_known(p);
}

static bool remember(const Run *r, const char *device, Profile *p) {
    for (int k = p->n - 1; k >= KEPT_FLOPS; k--)
        if (*kept_at(p, k) > 0 &&
            !costdb_put(r->db, "target", device, profile_key(r, k), *kept_at(p, k), r->error))
            return false;
    return true;
}

/* Stops the helper when the search ends, since only the search needs a profile. */
static bool search_over(void *run) { return run_signalled(run); }

bool profile_ask(Run *r, const char *path, const char *folder) {
    char *helper = helper_find(r->arena, "profile-onnxruntime");
    ChildSaid said;
    if (!helper || !run_targets_onnxruntime(r->o)) return true;
    CommandLine w = {.arena = r->arena};
    words_add(&w, helper);
    words_add(&w, path);
    words_add(&w, arena_format(r->arena, "--threads=%d", r->o->threads > 1 ? r->o->threads : 1));
    words_add_shapes(&w, &r->inputs);
    if (!words_add_inputs(&w, &r->inputs, folder, 1, r->error)) return false;
    if (!child_run_until(r->arena, w.v, NULL, &said, search_over, r)) r->profile = said.out;
    else if (*said.reason) run_say(r, "there is no profile: %s", said.reason);
    return !run_cancelled(r);
}

bool profile_target(Run *r, const char *path, const char *folder, const char *device, Profile *p) {
    *p = (Profile){.n = model_stats(r->source.model).nodes};
    if (!run_targets_onnxruntime(r->o)) return true;
    p->seconds = ARENA_NEW(r->arena, double, p->n);
    if (look_up(r, device, p) || r->o->frozen) return true;
    if (!r->profile && !profile_ask(r, path, folder)) return false;
    if (!r->profile) return true;
    read_times(p, r->profile);
    if (!profile_known(p)) memset(p->seconds, 0, sizeof *p->seconds * (size_t)p->n);
    return !run_cancelled(r) && (!p->known || remember(r, device, p));
}

void profile_fit(Profile *p, double whole) {
    if (!p->known || whole <= 0 || p->total <= whole) return;
    const double share = whole / p->total;
    for (int k = 0; k < p->n; k++) p->seconds[k] *= share;
    p->other *= share, p->total = whole;
}

double profile_nodes(const Profile *p, int n, const int node[]) {
    double sum = 0;
    for (int k = 0; k < n; k++) sum += p->seconds[node[k]];
    return sum + p->other * n / (p->n > 0 ? p->n : 1);
}

/* ---- headroom */

typedef struct Loss {
    int node;
    double least, lost; /* least seconds that the node needs; seconds beyond that */
    const char *name, *type;
} Loss;

/* Returns, by node of the file, the least seconds that its arithmetic and its data need. */
static Loss *least_times(const Run *r, const Profile *p) {
    const RunSource *s = &r->source;
    Loss *v = ARENA_NEW(r->arena, Loss, p->n);
    const NodeList live = graph_live(r->w, r->arena, &s->original);
    for (int k = 0; k < p->n; k++) v[k] = (Loss){.node = k, .name = "", .type = ""};
    for (int k = 0; k < live.n; k++) {
        const int at = model_node_index(s->model, live.v[k]);
        const Node node = node_get(r->w, live.v[k]);
        if (at < 0 || at >= p->n) continue;
        v[at].least += cost_roofline(r->w, &node, s->sizes, p->flops, p->bytes);
        v[at].name = model_node_name(s->model, live.v[k], &v[at].type);
    }
    return v;
}

static int by_loss(const void *a, const void *b) {
    const double x = ((const Loss *)a)->lost, y = ((const Loss *)b)->lost;
    return x < y ? 1 : x > y ? -1 : ((const Loss *)a)->node - ((const Loss *)b)->node;
}

static bool rewritable(const Places *p, int node) {
    for (int k = 0; k < p->n; k++)
        for (int j = 0; j < p->place[k].n; j++)
            if (p->place[k].node[j] == node) return true;
    return false;
}

static void add_losses(const Profile *p, const Places *places, const Loss v[], double lost,
                       Text *t) {
    text_add(t, "  %-34s %-18s %9s %9s %7s\n", "node that loses most", "operator", "ms", "least ms",
             "of it");
    int k = 0;
    for (; k < p->n && k < SHOWN && v[k].lost > SHOW_FROM * lost; k++) {
        char place[32];
        snprintf(place, sizeof place, "node %d of the file", v[k].node);
        text_add(t, "  %-34.34s %-18.18s %9.4f %9.4f %5.1f %%%s\n",
                 v[k].name && *v[k].name ? v[k].name : place, v[k].type ? v[k].type : "",
                 p->seconds[v[k].node] * 1e3, v[k].least * 1e3, v[k].lost / lost * 100,
                 !places || rewritable(places, v[k].node) ? "" : "   no rule rewrites it");
    }
    double rest = 0;
    for (int j = k; j < p->n; j++) rest += v[j].lost;
    if (k < p->n && lost > 0)
        text_add(t, "  %d other nodes lose %.1f %% of it\n", p->n - k, rest / lost * 100);
}

void profile_headroom(const Run *r, const Profile *p, const Places *places, Text *t) {
    double least = 0, lost = p->other, fixed = 0;
    if (!p->known) return;
    Loss *v = least_times(r, p);
    for (int k = 0; k < p->n; k++) {
        const double own = v[k].least < p->seconds[k] ? v[k].least : p->seconds[k];
        least += own;
        v[k].lost = p->seconds[k] - own;
        lost += v[k].lost;
        if (places && !rewritable(places, k)) fixed += v[k].lost;
    }
    qsort(v, (size_t)p->n, sizeof *v, by_loss);
    text_add(t,
             "  the original reaches %.0f %% of the machine's roofline (%.1f GFLOP/s, %.1f GB/s): "
             "%.3f of %.3f ms are lost",
             least / p->total * 100, p->flops / 1e9, p->bytes / 1e9, lost * 1e3, p->total * 1e3);
    if (places && lost > 0)
        text_add(t, ", %.0f %% of that in nodes that no rule rewrites", fixed / lost * 100);
    text_add(t, "\n");
    if (p->other > SHOW_FROM * lost)
        text_add(t,
                 "  %.3f ms are in operators that the target added, or fused under other names\n",
                 p->other * 1e3);
    add_losses(p, places, v, lost, t);
}
