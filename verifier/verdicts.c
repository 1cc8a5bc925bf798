/* verdicts.c -- verdicts as JSON, and the journal (verdicts.h). A line of the journal is written in
   one piece and read only if it is complete, so a process that is killed while it writes loses that
   line only. */
#include "verifier/verdicts.h"
#include "graphs/world.h"
#include "ops/base/file.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char *const words[] = {"unknown", "proved", "refuted", "unknown"};

/* ---- JSON */

size_t verdict_condition_length(const char *text) {
    size_t n = 0;
    for (int depth = 0; text[n] && (depth || text[n] != ','); n++)
        depth += (text[n] == '(') - (text[n] == ')');
    return n;
}
static cJSON *list_of(Arena *a, const char *conditions) {
    cJSON *list = cJSON_CreateArray();
    for (const char *at = conditions, *end; *at; at = *end ? end + 2 : end) {
        const size_t n = verdict_condition_length(at);
        cJSON_AddItemToArray(list, cJSON_CreateString(arena_string(a, at, n)));
        end = at + n;
    }
    return list;
}
static void add_text(cJSON *x, const char *name, const char *text) {
    if (text && *text) cJSON_AddStringToObject(x, name, text);
    else cJSON_AddNullToObject(x, name);
}
const char *verdict_print(Arena *a, int index, const char *id, const char *name,
                          const VerifyResult *r) {
    cJSON *x = cJSON_CreateObject();
    cJSON_AddNumberToObject(x, "index", index);
    add_text(x, "id", id);
    cJSON_AddStringToObject(x, "name", name);
    cJSON_AddStringToObject(x, "verdict", words[r->verdict]);
    cJSON_AddItemToObject(x, "where", list_of(a, r->condition));
    cJSON_AddItemToObject(x, "sides", list_of(a, r->condition_sources));
    add_text(x, "category", r->category);
    cJSON_AddItemToObject(x, "all_ranks", list_of(a, r->all_ranks));
    add_text(x, "class", r->verdict == VERDICT_PROVED ? classes_text(a, r->classes) : NULL);
    cJSON_AddNumberToObject(x, "ms", r->ms);
    cJSON_AddNumberToObject(x, "queries", r->queries);
    add_text(x, "counterexample", r->counterexample);
    add_text(x, "why", r->why);
    char *text = cJSON_PrintUnformatted(x);
    cJSON_Delete(x);
    if (!text) escape_raise(arena_escape(a), E_MEMORY, "no memory for a verdict");
    const char *kept = arena_string(a, text, strlen(text));
    cJSON_free(text);
    return kept;
}
static const char *text_of(Arena *a, const cJSON *x, const char *name, const char *none) {
    const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(x, name));
    return s ? arena_string(a, s, strlen(s)) : none;
}
static const char *joined_list(Arena *a, const cJSON *list) {
    Text t = text_new(a);
    const cJSON *x;
    cJSON_ArrayForEach(x, list)
        text_add(&t, "%s%s", t.size ? ", " : "", cJSON_IsString(x) ? x->valuestring : "");
    return t.data ? t.data : "";
}
static bool read_verdict(Arena *a, const cJSON *x, VerifyResult *r) {
    const char *word = text_of(a, x, "verdict", ""), *class = text_of(a, x, "class", "exact");
    *r = (VerifyResult){
        .verdict = !strcmp(word, "proved")    ? VERDICT_PROVED
                   : !strcmp(word, "refuted") ? VERDICT_REFUTED
                                              : VERDICT_UNKNOWN,
        .condition = joined_list(a, cJSON_GetObjectItemCaseSensitive(x, "where")),
        .all_ranks = joined_list(a, cJSON_GetObjectItemCaseSensitive(x, "all_ranks")),
        .condition_sources = joined_list(a, cJSON_GetObjectItemCaseSensitive(x, "sides")),
        .category = text_of(a, x, "category", ""),
        .why = text_of(a, x, "why", ""),
        .counterexample = text_of(a, x, "counterexample", NULL)};
    const cJSON *ms = cJSON_GetObjectItemCaseSensitive(x, "ms"),
                *queries = cJSON_GetObjectItemCaseSensitive(x, "queries");
    r->ms = cJSON_IsNumber(ms) ? ms->valuedouble : 0;
    r->queries = cJSON_IsNumber(queries) ? queries->valueint : 0;
    return *word && classes_parse(class, &r->classes);
}
bool verdict_parse(Arena *a, const char *line, VerifyResult *r) {
    cJSON *x = cJSON_Parse(line);
    bool ok = cJSON_IsObject(x) && read_verdict(a, x, r);
    cJSON_Delete(x);
    return ok;
}

/* ---- the journal */

struct Journal {
    Arena *arena;
    World *w; /* it keeps the digests of definitions from rule to rule */
    WorldMark mark;
    const char *path, *mode;
    int fd;
    const char *old; /* the lines that the file had when it was opened */
};

static bool is_answer(const VerifyResult *r) {
    return r->verdict == VERDICT_PROVED || r->verdict == VERDICT_REFUTED;
}
/* The key of a rule. It contains the definitions of operators, since what was proved about others
   does not count, and the rule's text, since conditions use the names in it. */
static const char *key(const Journal *j, const Rule *rule) {
    Rule copy = *rule;
    copy.verdict = VERDICT_PROVED;
    copy.classes = 0;
    copy.condition = copy.all_ranks = "";
    rule_seal(j->w, j->arena, &copy);
    world_reset(j->w, j->mark);
    Text t = text_new(j->arena);
    text_add(&t, "%s%s%s%s", rule->inputs.text, rule->from.text, rule->to.text,
             rule->where.text ? rule->where.text : "");
    return arena_format(j->arena, "%s/%016llx/%s/%s ", rule->id,
                        (unsigned long long)hash_bytes(t.data, t.size), copy.defs, j->mode);
}
bool journal_open(Arena *a, const char *path, const char *mode, bool resume, Journal **out,
                  Error *e) {
    Journal *j = ARENA_NEW(a, Journal, 1);
    size_t n = 0;
    char *old = NULL;
    Error none = {0}; /* if there is no file, nothing was done yet */
    if (resume && !access(path, F_OK) && !file_read(a, path, &old, &n, &none))
        return error_set(e, none.kind, path, "%s", none.reason);
    *j = (Journal){.arena = a, .path = path, .mode = mode, .old = old ? old : ""};
    j->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (resume ? 0 : O_TRUNC), 0666);
    if (j->fd < 0)
        return error_set(
            e, E_ENVIRONMENT, path,
            "cannot write the journal of verdicts, which belongs next to the result: %s",
            strerror(errno));
    if (n && old[n - 1] != '\n' && write(j->fd, "\n", 1) != 1) { /* its last line was cut off */
        close(j->fd);
        return error_set(e, E_ENVIRONMENT, path, "cannot be written: %s", strerror(errno));
    }
    j->w = graph_world_new(arena_escape(a), 0);
    j->mark = world_mark(j->w);
    *out = j;
    return true;
}
bool journal_find(const Journal *j, const Rule *rule, VerifyResult *r) {
    const char *k = key(j, rule);
    size_t n = strlen(k);
    for (const char *line = j->old, *end; *line && (end = strchr(line, '\n')); line = end + 1)
        if (!strncmp(line, k, n) &&
            verdict_parse(j->arena, arena_string(j->arena, line + n, (size_t)(end - line) - n),
                          r) &&
            is_answer(r))
            return true;
    return false;
}
bool journal_add(const Journal *j, const Rule *rule, const VerifyResult *r, Error *e) {
    if (!is_answer(r)) return true;
    const char *line = arena_format(j->arena, "%s%s\n", key(j, rule),
                                    verdict_print(j->arena, 0, rule->id, rule->name, r));
    size_t n = strlen(line);
    return write(j->fd, line, n) == (ssize_t)n ||
           error_set(e, E_ENVIRONMENT, j->path, "cannot be written: %s", strerror(errno));
}
void journal_close(Journal *j, bool remove) {
    if (!j) return;
    world_free(j->w);
    close(j->fd);
    if (remove) unlink(j->path);
}
