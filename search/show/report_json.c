/* report_json.c -- reports what a run did, for programs. search/REPORT.md says what each field
   means. */
#include "search/effect.h"
#include "ops/base/process.h"
#include "search/show/versions.h"
#include "search/show/report.h"
#include <cjson/cJSON.h>
#include <string.h>

static double peak_mb(void) { return (double)process_peak() / (1 << 20); }

/* Adds a text, or null if there is none. */
static void json_text(cJSON *o, const char *name, const char *text) {
    if (text) cJSON_AddStringToObject(o, name, text);
    else cJSON_AddNullToObject(o, name);
}

static void json_pair(cJSON *o, const char *name, double before, double after) {
    cJSON *p = cJSON_AddObjectToObject(o, name);
    if (before >= 0) cJSON_AddNumberToObject(p, "before", before);
    else cJSON_AddNullToObject(p, "before");
    if (after >= 0) cJSON_AddNumberToObject(p, "after", after);
    else cJSON_AddNullToObject(p, "after");
}

static void json_rules(const Library *l, Arena *a, const Derivation *d, cJSON *o) {
    cJSON *list = cJSON_AddArrayToObject(o, "rules");
    const int *count = derivation_counts(d, a);
    for (int k = 0; k < l->n; k++) {
        if (!count[k]) continue;
        cJSON *x = cJSON_CreateObject();
        cJSON_AddStringToObject(x, "name", l->rule[k].rule->name);
        cJSON_AddStringToObject(x, "id", l->rule[k].rule->id);
        cJSON_AddStringToObject(x, "class", classes_text(a, l->rule[k].rule->classes));
        cJSON_AddNumberToObject(x, "count", count[k]);
        cJSON_AddItemToArray(list, x);
    }
}

static void json_operators(const RunStats *s, cJSON *o) {
    const OpCost *v = s->operators;
    cJSON *all = cJSON_AddObjectToObject(o, "operators");
    for (int k = 0; k < s->noperator; k++) json_pair(all, v[k].name, v[k].nodes[0], v[k].nodes[1]);
    all = cJSON_AddObjectToObject(o, "operator_flops");
    for (int k = 0; k < s->noperator; k++) json_pair(all, v[k].name, v[k].flops[0], v[k].flops[1]);
}

static void json_kinds(const RunStats *s, cJSON *o) {
    cJSON *all = cJSON_AddObjectToObject(o, "step_seconds");
    for (int k = 0; k < STEP_KIND_COUNT; k++)
        if (s->kinds[k].steps[0] + s->kinds[k].steps[1])
            json_pair(all, step_kind_name((StepKind)k), s->kinds[k].seconds[0],
                      s->kinds[k].seconds[1]);
}

static void json_check(const Run *r, cJSON *o) {
    cJSON *c = cJSON_AddObjectToObject(o, "check");
    cJSON_AddBoolToObject(c, "done", r->stats.checked);
    cJSON_AddNumberToObject(c, "max_absolute", r->stats.check_absolute);
    cJSON_AddNumberToObject(c, "max_relative", r->stats.check_relative);
    cJSON_AddBoolToObject(c, "unstable", r->stats.check_unstable);
    cJSON_AddBoolToObject(c, "all_zero", r->stats.check_zero);
    cJSON_AddNumberToObject(c, "applications", r->stats.applications);
    cJSON_AddNumberToObject(c, "applications_compared", r->stats.applications_compared);
    cJSON_AddNumberToObject(c, "constants", r->stats.constants);
    cJSON_AddNumberToObject(c, "constants_compared", r->stats.constants_compared);
    cJSON_AddStringToObject(c, "note", r->stats.check_note);
    cJSON *outputs = cJSON_AddObjectToObject(c, "outputs");
    for (int k = 0; r->stats.output && k < r->source.original.nout; k++) {
        cJSON *x = cJSON_AddObjectToObject(outputs, model_output_name(r->source.model, k));
        const char *const names[] = {"max_absolute", "max_relative"};
        for (int j = 0; j < 2; j++) {
            if (r->stats.output[k][j] >= 0)
                cJSON_AddNumberToObject(x, names[j], r->stats.output[k][j]);
            else cJSON_AddNullToObject(x, names[j]);
        }
    }
    if (r->stats.opinion) cJSON_AddStringToObject(c, r->o->check_with, r->stats.opinion);
}

static void json_also(const RunStats *s, cJSON *o) {
    if (!s->also_threads) {
        cJSON_AddNullToObject(o, "also");
        return;
    }
    cJSON *x = cJSON_AddObjectToObject(o, "also");
    cJSON_AddNumberToObject(x, "threads", s->also_threads);
    json_pair(x, "measured_seconds", s->also_before, s->also_after);
}

static void json_numbers(const RunStats *s, double seconds, cJSON *o) {
    cJSON_AddNumberToObject(o, "regions", s->regions);
    cJSON_AddNumberToObject(o, "regions_unique", s->regions_unique);
    cJSON_AddNumberToObject(o, "steps", s->steps);
    cJSON_AddNumberToObject(o, "candidates", s->candidates);
    cJSON_AddNumberToObject(o, "costs_missing", s->frozen_missing);
    cJSON_AddNumberToObject(o, "seconds", seconds);
    cJSON_AddNumberToObject(o, "peak_mb", peak_mb());
    cJSON_AddNumberToObject(o, "constants_growth", (double)s->growth);
    json_pair(o, "bytes", (double)s->bytes_before, (double)s->bytes_after);
    json_pair(o, "flops", s->flops_before, s->flops_after);
    json_pair(o, "predicted_seconds", s->predicted_before, s->predicted_after);
    json_pair(o, "measured_seconds", s->measured_before, s->measured_after);
    json_also(s, o);
    json_text(o, "cost_file_fault", s->cost_fault);
}

static void json_gains(cJSON *o, const char *name, int n, const PlaceGain *gain) {
    cJSON *list = cJSON_AddArrayToObject(o, name);
    for (int k = 0; k < n; k++) {
        const PlaceGain *p = &gain[k];
        cJSON *x = cJSON_CreateObject();
        cJSON_AddItemToArray(list, x);
        cJSON_AddStringToObject(x, "node", p->node);
        cJSON_AddStringToObject(x, "rules", p->rules);
        cJSON_AddNumberToObject(x, "count", p->count);
        cJSON_AddBoolToObject(x, "timed", p->before >= 0 && !p->expected);
        json_pair(x, "seconds", p->before, p->after);
    }
}

static void json_guessed(const RunStats *s, cJSON *o) {
    if (!s->nguessed) {
        cJSON_AddNullToObject(o, "guessed_sizes");
        return;
    }
    cJSON *x = cJSON_AddObjectToObject(o, "guessed_sizes");
    for (int k = 0; k < s->nguessed; k++)
        cJSON_AddNumberToObject(x, s->guessed[k].name, (double)s->guessed[k].value);
}

static void json_places(const RunStats *s, bool changed, cJSON *o) {
    json_gains(o, "places", changed ? s->nplace : 0, s->place);
    json_gains(o, "gains", s->ngain, s->gain);
    json_text(o, "reason", !changed ? s->reason : NULL);
    json_text(o, "sizes", s->sizes);
    json_guessed(s, o);
    json_text(o, "headroom", !changed ? s->headroom : NULL);
}

static void json_versions(const Run *r, cJSON *o) {
    cJSON *list = cJSON_AddArrayToObject(o, "versions");
    Text t = text_new(r->arena);
    versions_print(r->o, r->o->report != NULL, &t);
    for (const char *line = t.data; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *word = line + strspn(line, " ");
        if (word > line)
            cJSON_AddItemToArray(
                list, cJSON_CreateString(arena_string(r->arena, word, strcspn(word, "\n"))));
    }
}

static void json_discovered(const RunDiscovered *d, cJSON *o) {
    if (d->seconds <= 0) {
        cJSON_AddNullToObject(o, "discovered");
        return;
    }
    cJSON *x = cJSON_AddObjectToObject(o, "discovered");
    const struct {
        const char *name;
        double v;
    } all[] = {{"questions", d->questions},   {"asked", d->asked},   {"answered", d->answered},
               {"candidates", d->candidates}, {"proved", d->proved}, {"new", d->fresh},
               {"seconds", d->seconds}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        cJSON_AddNumberToObject(x, all[k].name, all[k].v);
    cJSON_AddStringToObject(x, "file", d->path);
    json_text(x, "note", d->note);
}

static void json_bodies(const RunStats *s, cJSON *o) {
    cJSON *x = cJSON_AddObjectToObject(o, "bodies"), *list = cJSON_AddArrayToObject(x, "reports");
    for (int k = 0; k < s->nbody; k++) {
        cJSON *body = cJSON_CreateObject();
        cJSON_AddStringToObject(body, "name", s->body[k].name);
        cJSON_AddRawToObject(body, "report", s->body[k].report);
        cJSON_AddItemToArray(list, body);
    }
    json_text(x, "note", s->bodies_note);
}

static void json_moved(const RunStats *s, cJSON *o) {
    cJSON *x = cJSON_AddObjectToObject(o, "moved"), *list = cJSON_AddArrayToObject(x, "bodies");
    for (int k = 0; k < s->nmoved; k++) {
        cJSON *body = cJSON_CreateObject();
        cJSON_AddStringToObject(body, "name", s->moved[k].body);
        cJSON_AddItemToObject(body, "nodes",
                              cJSON_CreateStringArray(s->moved[k].node, s->moved[k].n));
        cJSON_AddItemToArray(list, body);
    }
    json_text(x, "note", s->moved_note);
}

static void json_nodes(const Run *r, cJSON *o) {
    const ModelStats m = model_stats(r->source.model);
    OpaqueNode *opaque;
    const int n = model_opaque_nodes(r->source.model, r->arena, &opaque);
    cJSON *nodes = cJSON_AddObjectToObject(o, "nodes");
    cJSON_AddNumberToObject(nodes, "total", m.nodes);
    cJSON_AddNumberToObject(nodes, "understood", m.understood);
    cJSON_AddNumberToObject(nodes, "opaque", m.opaque);
    cJSON *list = cJSON_AddArrayToObject(o, "opaque");
    for (int k = 0; k < n; k++) {
        cJSON *x = cJSON_CreateObject();
        cJSON_AddStringToObject(x, "node", opaque[k].name);
        cJSON_AddStringToObject(x, "operator", opaque[k].op_type);
        cJSON_AddStringToObject(x, "reason", opaque[k].reason);
        cJSON_AddItemToArray(list, x);
    }
}

static void drop(void *json) { cJSON_Delete(json); }

void run_report(const Run *r, const Derivation *d, bool changed, Text *t) {
    const RunStats *s = &r->stats;
    Cleanup *cleanup = ARENA_NEW(r->arena, Cleanup, 2);
    cJSON *o = cJSON_CreateObject();
    cleanup_add(r->escape, &cleanup[0], drop, o);
    cJSON_AddStringToObject(o, "isomer", isomer_version());
    json_versions(r, o);
    cJSON_AddStringToObject(o, "model_digest", r->source.digest);
    cJSON_AddBoolToObject(o, "changed", changed || run_changes_file(r));
    cJSON_AddStringToObject(o, "target", r->o->measure_with ? r->o->measure_with : r->o->backend);
    json_nodes(r, o);
    json_operators(s, o);
    json_kinds(s, o);
    json_rules(&r->library, r->arena, d, o);
    cJSON_AddStringToObject(o, "classes", classes_text(r->arena, d->classes));
    json_places(s, changed, o);
    json_text(o, "left_out", r->left_out);
    json_discovered(&s->discovered, o);
    json_moved(s, o);
    json_bodies(s, o);
    json_numbers(s, run_seconds_whole(r), o);
    json_check(r, o);
    char *text = cJSON_Print(o);
    if (!text) escape_raise(r->escape, E_MEMORY, "no memory for the report");
    cleanup_add(r->escape, &cleanup[1], cJSON_free, text);
    text_add(t, "%s\n", text);
    cleanup_run(&cleanup[1]);
    cleanup_run(&cleanup[0]);
}
