/* optimize_model.c -- the program optimize-model: parses its options into IsomerOptions, makes one
   call of the library (isomer.h), which also says which words are allowed, and prints its table. */
#include "graphs/feed.h"
#include "ops/base/main.h"
#include "search/isomer.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OPTIONS = 64 }; /* room for the table */

typedef struct Options {
    IsomerOptions x;
    StringList shape, dim, enable, disable, explain, input; /* become lists of x */
    bool version, quiet, list_rules;
    int verbose;
    const char *progress, *help;
    StringList files;
} Options;

static const ProgramText program = {
    .name = "optimize-model",
    .usage = "optimize-model IN.onnx OUT.onnx [options]",
    .summary = "Writes a model that computes the same and runs faster: rewritten by proved rules, "
               "checked by numbers, measured. Without a gain of "
               "3 % the file is copied as it is.",
    .more = "Names, order and sizes of inputs and outputs stay, as do metadata and the names of "
            "nodes; new nodes are named after the rule "
            "that made them. What is not understood is copied. "
            "OUT is written as a whole or not at all, and only after the result was compared with "
            "the original. The same bytes come out "
            "for the same bytes, options and measured times "
            "(--frozen).\n\n"
            "With the built-in runtime as the target, and a page that shows what was done:\n"
            "  optimize-model in.onnx out.onnx --html report.html\n"
            "With ONNX Runtime as the target, at given sizes, and as a second opinion:\n"
            "  optimize-model in.onnx out.onnx --input-shape x:1,3,224,224 \\\n"
            "      --measure-with onnxruntime --check-with onnxruntime\n"
            "Without measuring, and without writing a model:\n"
            "  optimize-model in.onnx --dry-run --cost flops --diff",
};

static void option_table(Options *o, OptionDef table[]) {
    const OptionDef all[] = {
        {.kind = OPT_HEAD, .help = "Sizes"},
        {.name = "input-shape",
         .kind = OPT_LIST,
         .into = &o->shape,
         .value = "NAME:1,3,..",
         .help = "Sizes of an input, for timing and checking; the model keeps its own."},
        {.name = "dim",
         .kind = OPT_LIST,
         .into = &o->dim,
         .value = "NAME=N",
         .help = "The value of a size by its name in the model, for the same."},
        {.kind = OPT_HEAD, .help = "Rules"},
        {.name = "rules",
         .kind = OPT_TEXT,
         .into = &o->x.rules,
         .value = "FILE|none",
         .help = "Uses the proved rules of FILE instead of the library, or none."},
        {.name = "enable",
         .kind = OPT_LIST,
         .into = &o->enable,
         .value = "RULE",
         .help = "Uses only this rule and others given so; by name or identifier."},
        {.name = "disable",
         .kind = OPT_LIST,
         .into = &o->disable,
         .value = "RULE",
         .help = "Does not use this rule; by name or identifier."},
        {.name = "allow",
         .kind = OPT_TEXT,
         .into = &o->x.allow,
         .value = "CLASS",
         .help = "Allows more rules: of the classes drops, defines and overflows, joined by +, "
                 "after which NaN and infinity may vanish or come."},
        {.name = "list-rules",
         .kind = OPT_FLAG,
         .into = &o->list_rules,
         .help = "Prints all rules, and which of them these options choose; does nothing else."},
        {.kind = OPT_HEAD, .help = "Costs"},
        {.name = "cost",
         .kind = OPT_TEXT,
         .into = &o->x.cost,
         .value = "measured|flops|nodes",
         .help =
             "What to minimise: measured time (the default), time by a model of the machine, or "
             "the number of nodes."},
        {.name = "cost-db",
         .kind = OPT_TEXT,
         .into = &o->x.cost_db,
         .value = "FILE",
         .help = "The file of measured times. Default: isomer/costs.sqlite in $XDG_CACHE_HOME or "
                 "~/.cache."},
        {.name = "frozen",
         .kind = OPT_FLAG,
         .into = &o->x.frozen,
         .is_int = true,
         .help = "Times nothing; estimates what the cost file does not have."},
        {.name = "measure-with",
         .kind = OPT_TEXT,
         .into = &o->x.measure_with,
         .value = "onnxruntime|CMD",
         .help = "The target instead of the built-in runtime: the Python package onnxruntime, or a "
                 "command that times ONNX files (search/README.md)."},
        {.name = "threads",
         .kind = OPT_INT,
         .into = &o->x.threads,
         .is_int = true,
         .value = "N",
         .help = "Threads of the target whose time counts, 1 (the default) to 64: of our own "
                 "executor or "
                 "of onnxruntime. Results are checked on one.",
         .least = 1,
         .most = 64},
        {.name = "backend",
         .kind = OPT_TEXT,
         .into = &o->x.backend,
         .value = "NAME",
         .help = "The back end of the built-in runtime: cpu (the default), cuda (an NVIDIA GPU), "
                 "or the "
                 "path of a plug-in."},
        {.name = "backend-options",
         .kind = OPT_TEXT,
         .into = &o->x.backend_options,
         .value = "TEXT",
         .help = "Passed to the back end, which says in its documentation what it understands."},
        {.kind = OPT_HEAD, .help = "Search"},
        {.name = "search",
         .kind = OPT_TEXT,
         .into = &o->x.search,
         .value = "backtrack|egraph|both",
         .help =
             "On the costs of the built-in runtime: by backtracking (the default), by an e-graph, "
             "or by both, which takes longer."},
        {.name = "steps",
         .kind = OPT_INT,
         .into = &o->x.steps,
         .value = "N",
         .help = "Ends the search after N graphs were expanded. Default: 2000.",
         .least = 0,
         .most = 1e12},
        {.name = "time-limit",
         .kind = OPT_REAL,
         .into = &o->x.time_limit,
         .value = "SECONDS",
         .help = "Ends the search after so much time. Default: no limit, or with a measuring "
                 "command what the effort says.",
         .least = 0,
         .most = 1e9},
        {.name = "effort",
         .kind = OPT_TEXT,
         .into = &o->x.effort,
         .value = "quick|default|thorough",
         .help = "How long the search may take with a measuring command: 30, 120 or 600 seconds. "
                 "What is being timed then is finished, and the winner is timed once more."},
        {.name = "keep-best",
         .kind = OPT_FLAG,
         .into = &o->x.keep_best,
         .is_int = true,
         .help = "Ctrl-C ends the search, and what was found best so far is checked and written. "
                 "Twice: nothing is."},
        {.name = "seed",
         .kind = OPT_INT,
         .into = &o->x.seed,
         .value = "N",
         .help = "Seed of the random data on which models are compared and timed. Default: 0.",
         .least = 0,
         .most = 9e15},
        {.name = "fold-limit",
         .kind = OPT_INT,
         .into = &o->x.fold_limit,
         .value = "BYTES",
         .help = "Leaves a constant of more bytes to be computed at each run. Default: no limit.",
         .least = 0,
         .most = 9e15},
        {.name = "max-growth",
         .kind = OPT_INT,
         .into = &o->x.max_growth,
         .value = "BYTES",
         .help = "How much larger the constants in the file may become. Default: 1 MiB and a tenth "
                 "of the file.",
         .least = 0,
         .most = 9e15},
        {.name = "replay",
         .kind = OPT_TEXT,
         .into = &o->x.replay,
         .value = "LOG",
         .help = "Follows a proof log, checking each step, instead of searching."},
        {.kind = OPT_HEAD, .help = "Check and report"},
        {.name = "check",
         .kind = OPT_INT,
         .into = &o->x.check,
         .is_int = true,
         .value = "N",
         .help =
             "Compares the result with the original on N sets of inputs; 0: not at all. Default: "
             "1; without N: 3.",
         .least = 0,
         .most = 1000,
         .when_bare = "3"},
        {.name = "input",
         .kind = OPT_LIST,
         .into = &o->input,
         .value = "NAME=WHAT|FILE.npz",
         .help = feed_help},
        {.name = "check-with",
         .kind = OPT_TEXT,
         .into = &o->x.check_with,
         .value = "onnxruntime",
         .help = "Also compares in the Python package onnxruntime, on the same integers and floats "
                 "of its own; nothing is "
                 "written if the outputs disagree there."},
        {.name = "rtol",
         .kind = OPT_REAL,
         .into = &o->x.rtol,
         .value = "X",
         .help =
             "Allowed difference, relative to the largest element of an output. Default: by the "
             "classes of the rules used.",
         .least = 0,
         .most = 1},
        {.name = "atol",
         .kind = OPT_REAL,
         .into = &o->x.atol,
         .value = "X",
         .help = "Allowed absolute difference. Default: by the classes of the rules used.",
         .least = 0,
         .most = 1e30},
        {.name = "report",
         .kind = OPT_TEXT,
         .into = &o->x.report,
         .value = "FILE",
         .help = "Writes a report as JSON (search/REPORT.md)."},
        {.name = "diff",
         .kind = OPT_FLAG,
         .into = &o->x.diff,
         .is_int = true,
         .help = "Prints the nodes that were removed, added or changed, grouped by rule."},
        {.name = "explain",
         .kind = OPT_LIST,
         .into = &o->explain,
         .value = "NODE",
         .help = "Prints which rules made a node of the result, and from what, or what became of a "
                 "node of the original. NODE may also be the name of a value."},
        {.name = "html",
         .kind = OPT_TEXT,
         .into = &o->x.html,
         .value = "FILE",
         .help =
             "Writes an HTML page: original and result side by side, costs, rules, check. Needs "
             "Graphviz."},
        {.name = "dot",
         .kind = OPT_TEXT,
         .into = &o->x.dot,
         .value = "FILE",
         .help = "Writes both graphs in Graphviz's language, with changes in colour."},
        {.name = "proof-log",
         .kind = OPT_TEXT,
         .into = &o->x.proof_log,
         .value = "FILE",
         .help = "Writes every step from original to result, for --replay."},
        {.name = "save-as-external-data",
         .kind = OPT_FLAG,
         .into = &o->x.external,
         .is_int = true,
         .help =
             "Writes weights into one file beside the result, OUT.onnx.data. Default: they stay "
             "where the model has them."},
        {.name = "external-threshold",
         .kind = OPT_INT,
         .into = &o->x.external_threshold,
         .value = "BYTES",
         .help = "Moves only weights of at least so many bytes. Default: 1024.",
         .least = 0,
         .most = 9e15},
        {.name = "dry-run",
         .kind = OPT_FLAG,
         .into = &o->x.dry_run,
         .is_int = true,
         .help = "Writes no model; OUT.onnx may be left out."},
        {.name = "progress",
         .kind = OPT_TEXT,
         .into = &o->progress,
         .value = "auto|never",
         .help = "Says on standard error what is being done: if that is a terminal (auto, the "
                 "default), or never."},
        {.name = "quiet",
         .letter = 'q',
         .kind = OPT_FLAG,
         .into = &o->quiet,
         .help = "Prints no table, no progress, no warnings."},
        {.name = "verbose",
         .letter = 'v',
         .kind = OPT_COUNT,
         .into = &o->verbose,
         .help = "Says what is being done even if standard error is no terminal."},
        OPTION_VERSION(&o->version),
        OPTION_HELP(&o->help),
        {0},
    };
    memcpy(table, all, sizeof all);
}

static volatile int interrupted; /* set by the handler: the one thing that has to be global */

static void on_interrupt(int signal) {
    (void)signal;
    interrupted = 1;
}

static void catch_interrupt(void) {
    struct sigaction program_act = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &program_act, NULL);
}

static void print_progress(void *user, const char *line) {
    (void)user;
    fprintf(stderr, "%s\n", line);
}

static IsomerTexts isomer_texts(StringList list) { return (IsomerTexts){list.n, list.v}; }

static void fill_options(Options *o) {
    o->x.input_shape = isomer_texts(o->shape), o->x.dim = isomer_texts(o->dim);
    o->x.inputs = isomer_texts(o->input);
    o->x.enable = isomer_texts(o->enable), o->x.disable = isomer_texts(o->disable);
    o->x.explain = isomer_texts(o->explain);
    o->x.cancel = &interrupted;
    bool terminal = isatty(STDERR_FILENO) && strcmp(o->progress, "never");
    if (!o->quiet && (o->verbose || terminal)) o->x.progress = print_progress;
}

static int call_library(Options *o) {
    IsomerResult result;
    fill_options(o);
    catch_interrupt();
    int code = o->list_rules ? isomer_list_rules(&o->x, &result)
                             : isomer_optimize(o->files.v[0], o->files.n > 1 ? o->files.v[1] : NULL,
                                               &o->x, &result);
    if (code) fprintf(stderr, "optimize-model: %s\n", result.message);
    else if (!o->quiet || o->list_rules) fputs(result.table, stdout);
    if (!code && result.changes) fputs(result.changes, stdout);
    if (!code && !o->quiet && *result.warning)
        fprintf(stderr, "optimize-model: %s\n", result.warning);
    isomer_result_free(&result);
    return code;
}

static bool check_arguments(const Options *o, Error *e) {
    int least = o->list_rules ? 0 : o->x.dry_run ? 1 : 2, most = o->list_rules ? 0 : 2;
    const char *wrong = o->files.n > most ? "too many files are given"
                        : o->files.n      ? "no file for the result is given"
                                          : "no model is given";
    if (o->files.n < least || o->files.n > most)
        return error_set(e, E_USAGE, "", "%s: %s", wrong, program.usage);
    return !strcmp(o->progress, "auto") || !strcmp(o->progress, "never") ||
           error_set(e, E_USAGE, "--progress", "expected auto or never, not \"%s\"", o->progress);
}

static bool print_versions(Text *t) {
    enum { ROOM = 4000 };
    char *text = arena_alloc(t->arena, ROOM);
    isomer_versions(text, ROOM);
    text_add(t, "%s %s", program.name, text);
    return true;
}

typedef struct Outcome {
    int code; /* of the library's call; its message is printed */
    Error error;
} Outcome;

static void program_act(void *user, Arena *a, int argc, char **argv) {
    Outcome *c = user;
    Error *e = &c->error;
    Options o = {.progress = "auto"};
    isomer_options(&o.x);
    OptionDef table[OPTIONS];
    option_table(&o, table);
    if (!options_parse(a, table, argc, argv, &o.files, e)) return;
    Text t = text_new(a);
    if (o.help || o.version) {
        if (o.help ? options_document(&t, &program, table, o.help, e) : print_versions(&t))
            fputs(t.data, stdout);
    } else if (check_arguments(&o, e)) c->code = call_library(&o);
}

int main(int argc, char **argv) {
    Outcome c = {0};
    int code = program_main(&program, argc, argv, program_act, &c, &c.error);
    return c.code ? c.code : code;
}
