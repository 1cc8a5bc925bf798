/* isomer.c -- the public functions. Each call is a run of its own. It has its own memory, which is
   freed whatever happens, and uses the C locale, so that numbers are read and printed with a
   decimal point whatever the caller's locale is. */
#include "search/isomer.h"
#include "graphs/world.h"
#include "search/optimize.h"
#include "search/option_table.h"
#include "search/show/versions.h"
#include "ops/base/process.h"
#include <locale.h>
#include <stdio.h>
#include <string.h>

enum { OPTIONS_BYTES = 416, RESULT_BYTES = 1360 }; /* where pointers have 8 bytes */

/* If one of these fails, a field came or went: that makes a new soname (isomer.abi). */
_Static_assert(sizeof(void *) != 8 || sizeof(IsomerOptions) == OPTIONS_BYTES,
               "IsomerOptions has another size");
_Static_assert(sizeof(void *) != 8 || sizeof(IsomerResult) == RESULT_BYTES,
               "IsomerResult has another size");

/* Puts the versions in place of the table. */
static bool fill_versions(Run *r, IsomerResult *out) {
    Text t = text_new(r->arena);
    versions_print(r->o, true, &t);
    out->table = run_copy_text(r->escape, &t);
    return true;
}

void isomer_options(IsomerOptions *o) { *o = optimize_defaults(); }

void isomer_result_free(IsomerResult *r) {
    mem_free(r->table);
    mem_free(r->report);
    mem_free(r->changes);
    r->table = r->report = r->changes = NULL;
}

typedef struct GuardedRun {
    Escape escape;
    Error error;
    Run run;
} GuardedRun;

/* Calls `what` with memory of its own. Returns false if it failed or memory ran out; c->error says
   why. */
static bool run_guarded(GuardedRun *c, bool (*what)(Run *, IsomerResult *), IsomerResult *out) {
    if (setjmp(c->escape.here)) {
        c->error = c->escape.error;
        return false;
    }
    c->run.arena = arena_new(&c->escape, 0);
    c->run.w = graph_world_new(&c->escape, 0);
    c->run.escape = &c->escape;
    return what(&c->run, out);
}

/* Makes one call of the library: `what` in a run of its own, with `beside` as its
   disagreement_beside. */
static int call_guarded(const char *in, const char *out, const char *beside, const IsomerOptions *o,
                        bool (*what)(Run *, IsomerResult *), IsomerResult *result) {
    *result = (IsomerResult){0};
    GuardedRun *c = mem_realloc(NULL, sizeof *c);
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!c || !plain) {
        if (plain) freelocale(plain);
        mem_free(c);
        snprintf(result->message, sizeof result->message, "out of memory");
        return result->code = 4;
    }
    locale_t host = uselocale(plain);
    memset(c, 0, sizeof *c);
    c->run = (Run){.o = o, .error = &c->error, .in = in, .out = out, .disagreement_beside = beside};
    c->run.stats = (RunStats){.start = process_clock(),
                              .predicted_before = -1,
                              .predicted_after = -1,
                              .measured_before = -1,
                              .measured_after = -1,
                              .check_note = ""};
    if (!in || !o)
        error_set(&c->error, E_USAGE, "isomer_optimize", "the %s NULL",
                  o ? "path of the model is" : "options are");
    else if (o->size != sizeof *o)
        error_set(&c->error, E_USAGE, "isomer_optimize",
                  "the options were not set by isomer_options");
    else if (!run_guarded(c, what, result) && c->error.kind == E_NONE)
        error_set(&c->error, E_INVALID, in,
                  "the run failed without giving a reason; please report this");
    if (c->error.kind != E_NONE) {
        error_print(&c->error, result->message, sizeof result->message);
        isomer_result_free(result);
    }
    escape_free(&c->escape);
    result->code = error_exit_code(&c->error);
    mem_free(c);
    uselocale(host);
    freelocale(plain);
    return result->code;
}

int isomer_optimize(const char *in, const char *out, const IsomerOptions *o, IsomerResult *result) {
    return call_guarded(in, out, out, o, optimize_run, result);
}

int optimize_within(const char *beside, const char *in, const char *out, const IsomerOptions *o,
                    IsomerResult *result) {
    return call_guarded(in, out, beside, o, optimize_run, result);
}

void isomer_versions(char *text, size_t n) {
    IsomerOptions o;
    IsomerResult result;
    isomer_options(&o);
    call_guarded("", NULL, NULL, &o, fill_versions, &result);
    const char *said = result.table ? result.table + strspn(result.table, " ") : result.message;
    snprintf(text, n, "%s", said);
    isomer_result_free(&result);
}

int isomer_list_rules(const IsomerOptions *o, IsomerResult *result) {
    return call_guarded("", NULL, NULL, o, optimize_list_rules, result);
}
