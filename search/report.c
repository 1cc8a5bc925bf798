/* report.c -- what a run did: a table for people and JSON for programs (search/REPORT.md), from the same numbers. */
#include "search/cost.h"
#include "search/run.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

typedef struct OpCount {
    const char *name;
    int before, after;
} OpCount;

static int by_name(const void *a, const void *b) { return strcmp(((const OpCount *)a)->name, ((const OpCount *)b)->name); }

static void count(Run *r, const Graph *g, OpCount *v, int *n, bool after) {
    NodeList live = graph_live(r->w, r->arena, g);
    for (int k = 0; k < live.n; k++) {
        Node node = node_get(r->w, live.v[k]);
        if (node.op->flags & OP_NO_COST) continue;
        int at = 0;
        while (at < *n && strcmp(v[at].name, node.op->name)) at++;
        if (at == *n) v[(*n)++] = (OpCount){.name = node.op->name};
        after ? v[at].after++ : v[at].before++;
    }
}

static OpCount *operators(Run *r, const Derivation *d, int *n) {
    OpCount *v = ARENA_NEW(r->arena, OpCount, op_count());
    *n = 0;
    count(r, &r->original, v, n, false);
    count(r, &d->graph, v, n, true);
    qsort(v, (size_t)*n, sizeof *v, by_name);
    return v;
}

static double peak_mb(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss / 1024;
}

static void flops(Run *r, const Derivation *d) {
    r->stats.flops_before = cost_flops(r->w, &r->original, r->sizes, NULL);
    r->stats.flops_after = cost_flops(r->w, &d->graph, r->sizes, NULL);
}

static void line_times(const char *what, double before, double after, Text *t) {
    if (before <= 0 || after <= 0) return;
    text_add(t, "  %-22s %11.3f ms %11.3f ms   %.2f times as fast\n", what, before * 1e3, after * 1e3, before / after);
}

static unsigned classes_used(const Run *r, const Derivation *d) {
    unsigned classes = 0;
    for (int k = 0; k < r->library.n; k++)
        if (d->fired[k]) classes |= r->library.rule[k].rule->classes;
    return classes;
}

void run_table(Run *r, const Derivation *d, bool changed, Text *t) {
    int n;
    OpCount *v = operators(r, d, &n);
    ModelStats m = model_stats(r->model);
    flops(r, d);
    text_add(t, "  %-22s %14s %14s\n", "operator", "before", "after");
    for (int k = 0; k < n; k++)
        if (v[k].before != v[k].after) text_add(t, "  %-22s %14d %14d\n", v[k].name, v[k].before, v[k].after);
    text_add(t, "  %-22s %11.3f MB %11.3f MB\n", "file", (double)r->stats.bytes_before / 1e6, (double)r->stats.bytes_after / 1e6);
    text_add(t, "  %-22s %10.4f GFLOP %8.4f GFLOP\n", "arithmetic", r->stats.flops_before / 1e9, r->stats.flops_after / 1e9);
    line_times("predicted time", r->stats.own_before, r->stats.own_after, t);
    line_times("measured time", r->stats.measured_before, r->stats.measured_after, t);
    for (int k = 0; k < r->library.n; k++)
        if (d->fired[k]) text_add(t, "  rule %-30s %4d times\n", r->library.rule[k].rule->name, d->fired[k]);
    if (r->stats.checked)
        text_add(t, "  compared by numbers: greatest difference %.3g, relative %.3g%s%s\n", r->stats.check_absolute,
                 r->stats.check_relative, *r->stats.check_note ? "; " : "", r->stats.check_note);
    else if (*r->stats.check_note) text_add(t, "  %s\n", r->stats.check_note);
    if (r->stats.frozen_missing)
        text_add(t, "  %d times were not in the cost file; the model's estimates stand for them\n", r->stats.frozen_missing);
    text_add(t, "  %d of %d nodes understood, %d opaque; %.1f s%s\n", m.understood, m.nodes, m.opaque, run_seconds(r),
             changed ? "" : "; nothing gains 3 %: the file is unchanged");
}

static void add_pair(cJSON *o, const char *name, double before, double after) {
    cJSON *p = cJSON_AddObjectToObject(o, name);
    if (before >= 0) cJSON_AddNumberToObject(p, "before", before);
    else cJSON_AddNullToObject(p, "before");
    if (after >= 0) cJSON_AddNumberToObject(p, "after", after);
    else cJSON_AddNullToObject(p, "after");
}

static void add_rules(Run *r, const Derivation *d, cJSON *o) {
    cJSON *list = cJSON_AddArrayToObject(o, "rules");
    for (int k = 0; k < r->library.n; k++) {
        if (!d->fired[k]) continue;
        cJSON *x = cJSON_CreateObject();
        cJSON_AddStringToObject(x, "name", r->library.rule[k].rule->name);
        cJSON_AddStringToObject(x, "id", r->library.rule[k].rule->id);
        cJSON_AddStringToObject(x, "class", classes_text(r->arena, r->library.rule[k].rule->classes));
        cJSON_AddNumberToObject(x, "count", d->fired[k]);
        cJSON_AddItemToArray(list, x);
    }
}

static void add_operators(Run *r, const Derivation *d, cJSON *o) {
    int n;
    OpCount *v = operators(r, d, &n);
    cJSON *all = cJSON_AddObjectToObject(o, "operators");
    for (int k = 0; k < n; k++) add_pair(all, v[k].name, v[k].before, v[k].after);
}

static void add_check(Run *r, cJSON *o) {
    cJSON *c = cJSON_AddObjectToObject(o, "check");
    cJSON_AddBoolToObject(c, "done", r->stats.checked);
    cJSON_AddNumberToObject(c, "max_absolute", r->stats.check_absolute);
    cJSON_AddNumberToObject(c, "max_relative", r->stats.check_relative);
    cJSON_AddStringToObject(c, "note", r->stats.check_note);
}

static void add_numbers(Run *r, cJSON *o) {
    cJSON_AddNumberToObject(o, "regions", r->stats.regions);
    cJSON_AddNumberToObject(o, "regions_unique", r->stats.regions_unique);
    cJSON_AddNumberToObject(o, "steps", r->stats.steps);
    cJSON_AddNumberToObject(o, "candidates", r->stats.candidates);
    cJSON_AddNumberToObject(o, "costs_missing", r->stats.frozen_missing);
    cJSON_AddNumberToObject(o, "seconds", run_seconds(r));
    cJSON_AddNumberToObject(o, "peak_mb", peak_mb());
    cJSON_AddNumberToObject(o, "constants_growth", (double)r->stats.growth);
    add_pair(o, "bytes", (double)r->stats.bytes_before, (double)r->stats.bytes_after);
    add_pair(o, "flops", r->stats.flops_before, r->stats.flops_after);
    add_pair(o, "predicted_seconds", r->stats.own_before, r->stats.own_after);
    add_pair(o, "measured_seconds", r->stats.measured_before, r->stats.measured_after);
}

void run_report(Run *r, const Derivation *d, bool changed, Text *t) {
    ModelStats m = model_stats(r->model);
    cJSON *o = cJSON_CreateObject(), *nodes = cJSON_AddObjectToObject(o, "nodes");
    cJSON_AddStringToObject(o, "isomer", isomer_version());
    cJSON_AddStringToObject(o, "model_digest", r->digest);
    cJSON_AddBoolToObject(o, "changed", changed);
    cJSON_AddStringToObject(o, "target", r->o->measure_with ? r->o->measure_with : r->o->backend);
    cJSON_AddNumberToObject(nodes, "total", m.nodes);
    cJSON_AddNumberToObject(nodes, "understood", m.understood);
    cJSON_AddNumberToObject(nodes, "opaque", m.opaque);
    add_operators(r, d, o);
    add_rules(r, d, o);
    cJSON_AddStringToObject(o, "classes", classes_text(r->arena, classes_used(r, d)));
    add_numbers(r, o);
    add_check(r, o);
    char *text = cJSON_Print(o);
    if (text) text_add(t, "%s\n", text);
    else text_add(t, "{}\n");
    cJSON_free(text);
    cJSON_Delete(o);
}
