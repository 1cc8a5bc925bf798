/* optimize_model.c -- the program optimize-model. It parses its options (option_table.h) into
   IsomerOptions, makes one call of the library (isomer.h) and prints the table that the call
   returns. */
#include "ops/base/interrupt.h"
#include "ops/base/main.h"
#include "search/option_table.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const ProgramText program = {
    .name = "optimize-model",
    .usage = "optimize-model IN.onnx OUT.onnx [options]",
    .summary =
        "Writes a model that computes the same and runs faster: rewritten by proved rules, checked "
        "numerically, measured. If the gain is below 3 %, the file is copied unchanged.",
    .more = "Names, order and sizes of inputs and outputs stay the same, as do metadata and the "
            "names of nodes; new nodes are named after the rule that made them. Parts that are not "
            "understood are copied. OUT is written completely or not at all, and only after the "
            "result was compared with the original. The same bytes come out for the same bytes, "
            "options and measured times (--frozen).\n\n"
            "For the built-in runtime, with a page that shows what was done:\n"
            "  optimize-model in.onnx out.onnx --html report.html\n"
            "For ONNX Runtime, at given sizes, and checked there:\n"
            "  optimize-model in.onnx out.onnx --input-shape x:1,3,224,224 \\\n"
            "      --measure-with onnxruntime --check-with onnxruntime\n"
            "Without measuring, and without writing a model:\n"
            "  optimize-model in.onnx --dry-run --cost flops --diff",
};

static void print_progress(void *user, const char *line) {
    (void)user;
    fprintf(stderr, "%s\n", line);
}

static void fill_options(OptimizeOptions *o) {
    optimize_set_lists(o);
    /* The first signal ends the search or the run, the second one the run (--keep-best); both leave
       no temporary files behind. A third one kills the process. */
    o->isomer.cancel = interrupts_count(2);
    signal(SIGPIPE, SIG_IGN); /* so that they are removed even if nobody reads what is printed */
    bool terminal = isatty(STDERR_FILENO) && strcmp(o->progress, "never");
    if (!o->quiet && (o->verbose || terminal)) o->isomer.progress = print_progress;
}

static int call_library(OptimizeOptions *o, const StringList *files) {
    IsomerResult result;
    const char *out = files->n > 1 ? files->v[1] : NULL;
    fill_options(o);
    int code = o->list_rules ? isomer_list_rules(&o->isomer, &result)
                             : isomer_optimize(files->v[0], out, &o->isomer, &result);
    if (code) fprintf(stderr, "optimize-model: %s\n", result.message);
    else if (!o->quiet || o->list_rules) fputs(result.table, stdout);
    if (!code && result.changes) fputs(result.changes, stdout);
    if (!code && !o->quiet && *result.warning)
        fprintf(stderr, "optimize-model: %s\n", result.warning);
    isomer_result_free(&result);
    return code;
}

static bool files_fit(const OptimizeOptions *o, const StringList *files, Error *e) {
    const int least = o->list_rules ? 0 : o->isomer.dry_run || o->isomer.headroom ? 1 : 2, most = 2;
    if (o->list_rules && files->n)
        return error_set(e, E_USAGE, "--list-rules", "takes no model: leave out %s", files->v[0]);
    const char *wrong = files->n > most ? "too many files are given"
                        : files->n      ? "no file for the result is given"
                                        : "no model is given";
    return (files->n >= least && files->n <= most) ||
           error_set(e, E_USAGE, "", "%s; usage: %s", wrong, program.usage);
}

static bool print_versions(Text *t) {
    enum { ROOM = 4000 };
    char *text = arena_alloc(t->arena, ROOM);
    isomer_versions(text, ROOM);
    text_add(t, "%s %s", program.name, text);
    return true;
}

typedef struct Outcome {
    int code; /* exit status of the library's call, whose message is already printed */
    Error error;
} Outcome;

static void program_act(void *user, Arena *a, int argc, char **argv) {
    Outcome *c = user;
    Error *e = &c->error;
    OptimizeOptions o = {0};
    StringList files;
    isomer_options(&o.isomer);
    if (!options_parse(a, optimize_options, &o, argc, argv, &files, e)) return;
    Text t = text_new(a);
    if (o.help || o.version) {
        if (o.help ? options_document(&t, &program, optimize_options, o.help, e)
                   : print_versions(&t))
            fputs(t.data, stdout);
    } else if (files_fit(&o, &files, e)) c->code = call_library(&o, &files);
}

int main(int argc, char **argv) {
    Outcome c = {0};
    int code = program_main(&program, argc, argv, program_act, &c, &c.error);
    return c.code ? c.code : code;
}
