/* sample_rules.c -- writes left sides of rules as ONNX models, at sizes drawn from a seed.

   `sample_rules FILE..` prints a line "rules N" and N lines "NAME CLASS LENGTHS FILE", where
   LENGTHS is the number of choices of block lengths. Then each line of standard input

   RULE LENGTHS OPSET LEAST SEED PATH

   asks for rule number RULE (from 0) with choice number LENGTHS (from 0) and sizes of at least
   LEAST; the model is written to PATH. The answer is a line "done" or "no REASON". */
#include "rules/export.h"
#include "test/shared/rule_trial.h"
#include <stdio.h>
#include <string.h>

typedef struct Request {
    int rule, lengths, opset;
    long long least;
    unsigned long long seed;
    char path[1024];
} Request;

static int lengths_count(const Rule *rule) {
    int length[RULE_BLOCKS], n = 0;
    rule_lengths_first(rule, length);
    do n++;
    while (rule_lengths_next(rule, length));
    return n;
}

static void list(Arena *a, const RuleSet *set) {
    printf("rules %d\n", set->n);
    for (int k = 0; k < set->n; k++)
        printf("%s %s %d %s\n", set->v[k].name,
               set->v[k].classes ? classes_text(a, set->v[k].classes) : "exact",
               lengths_count(&set->v[k]), set->v[k].file);
    fflush(stdout);
}

enum { NEWEST = 24 };
static const char *export_side(Trial *t, const Graph *side, int opset, const char *path) {
    Error e = {0};
    const char *why = NULL;
    const GraphFile file = {path, t->rule->name, opset};
    if (export_graph(t->w, t->arena, side, file, &why, &e)) return NULL;
    return why ? why : arena_string(t->arena, e.reason, strlen(e.reason));
}

/* Writes the left side. The right side is written first, to the same file, to find rules that
   cannot be used: those whose right side this operator set cannot express although the newest one
   can. (Some right sides cannot be expressed by any: they become constants.) */
static const char *written(Trial *t, const Request *r) {
    Graph left, right;
    if (!trial_draw(t, r->least) || !trial_graph(t, &t->instance.to, &right) ||
        !trial_graph(t, &t->instance.from, &left))
        return t->why;
    const char *why = export_side(t, &right, r->opset, r->path);
    if (why && !export_side(t, &right, NEWEST, r->path)) return why;
    return export_side(t, &left, r->opset, r->path);
}

static void serve(const RuleSet *set, const Request *r) {
    const Rule *rule = &set->v[r->rule];
    int length[RULE_BLOCKS];
    Trial t;
    rule_lengths_first(rule, length);
    for (int k = 0; k < r->lengths; k++) rule_lengths_next(rule, length);
    bool opened = trial_open(&t, rule, length, TRIAL_BOTH, r->seed);
    const char *why = opened ? written(&t, r) : t.why;
    if (why) printf("no %s\n", why);
    else printf("done\n");
    fflush(stdout);
    trial_close(&t);
}

int main(int argc, char **argv) {
    Arena *a = arena_new(NULL, 0);
    RuleSet set = {.arena = a};
    Error e = {0};
    Request r;
    for (int k = 1; k < argc; k++)
        if (!rules_read(a, argv[k], &set, &e))
            return fprintf(stderr, "sample_rules: %s %s\n", e.place, e.reason), 1;
    list(a, &set);
    while (scanf("%d %d %d %lld %llu %1023[^\n]", &r.rule, &r.lengths, &r.opset, &r.least, &r.seed,
                 r.path) == 6)
        if (r.rule >= 0 && r.rule < set.n) serve(&set, &r);
    arena_free(a);
    return 0;
}
