/* verify_write.c -- writes the files of verify-rules: rules with their verdicts, the verdicts as
   JSON, counterexamples, and the index of obligations. */
#include "ops/base/file.h"
#include "verifier/verify_program.h"
#include "graphs/world.h"
#include <string.h>

void program_write_counterexample(VerifyProgram *p, const Rule *rule, const VerifyResult *r) {
    const char *text =
        arena_format(p->arena, "rule %s (%s)\n%s\n", rule->name, rule->id, r->counterexample);
    const char *path = arena_format(p->arena, "%s/%s.txt", p->o.counterexample_dir, rule->id);
    file_write(path, text, strlen(text), &p->error);
}
void program_index_obligations(VerifyProgram *p, const Rule *rule, const char *line) {
    while (*line) {
        int n = (int)strcspn(line, "\n");
        text_add(&p->obligations, "%s\t%s\t%.*s\n", rule->id, rule->name, n, line);
        line += n + (line[n] == '\n');
    }
}
bool program_write_rules(VerifyProgram *p) {
    Text t = text_new(p->arena);
    World *w = graph_world_new(arena_escape(p->arena), 0);
    WorldMark mark = world_mark(w);
    for (int k = 0; k < p->set.n; k++) {
        Rule *rule = &p->set.v[k];
        const VerifyResult *r = &p->result[k];
        if (r->verdict != VERDICT_NONE) { /* a rule that was not reached stays as it was read */
            rule->verdict = r->verdict;
            rule->classes = r->classes;
            rule->condition = r->verdict == VERDICT_PROVED ? r->condition : "";
            rule->all_ranks = r->verdict == VERDICT_PROVED ? r->all_ranks : "";
            if (r->verdict == VERDICT_PROVED) rule_seal(w, p->arena, rule);
            world_reset(w, mark);
        }
        text_add(&t, k ? "\n" : "");
        rule_print(rule, &t);
    }
    rules_end_print(&p->set, &t);
    world_free(w);
    return file_write(p->o.out, t.data ? t.data : "", t.size, &p->error);
}
/* Adds the rules of a file, including those that could not be read, in the order of the file.
   `rule` and `refusal` are the numbers of the first ones. */
static void file_json(const VerifyProgram *p, const VerifyFile *f, int rule, int refusal, Text *t) {
    for (int index = 0; rule < f->rules_end || refusal < f->refusals_end; index++) {
        const char *line;
        if (refusal < f->refusals_end && p->refused.v[refusal].number == index) {
            const char *why = arena_format(p->arena, "it cannot be expressed: %s",
                                           p->refused.v[refusal++].reason);
            VerifyResult none = {.verdict = VERDICT_UNKNOWN,
                                 .condition = "",
                                 .all_ranks = "",
                                 .condition_sources = "",
                                 .category = "",
                                 .why = why};
            line = verdict_print(p->arena, index, NULL, arena_format(p->arena, "taso-%d", index),
                                 &none);
        } else {
            line = verdict_print(p->arena, index, p->set.v[rule].id, p->set.v[rule].name,
                                 &p->result[rule]);
            rule++;
        }
        text_add(t, "%s%s", t->size ? ",\n" : "", line);
    }
}
bool program_write_json(VerifyProgram *p) {
    Text t = text_new(p->arena), all = text_new(p->arena);
    for (int k = 0; k < p->nfile; k++)
        file_json(p, &p->file[k], k ? p->file[k - 1].rules_end : 0,
                  k ? p->file[k - 1].refusals_end : 0, &t);
    text_add(&all, "[\n%s\n]\n", t.data ? t.data : "");
    return file_write(p->o.json, all.data, all.size, &p->error);
}

bool program_open_obligations(VerifyProgram *p) {
    if (!p->o.obligations) return true;
    p->obligations = text_new(p->arena);
    text_add(&p->obligations, "rule\tname\tquestion\tpurpose\n");
    if (p->o.resume)
        return error_set(
            &p->error, E_USAGE, "--obligations",
            "cannot be given with --resume: rules that are not proved again ask no questions");
    return folder_make(p->o.obligations, &p->error);
}
bool program_write_index(VerifyProgram *p) {
    return file_write(arena_format(p->arena, "%s/index.tsv", p->o.obligations), p->obligations.data,
                      p->obligations.size, &p->error);
}
