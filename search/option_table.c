/* option_table.c -- the options of optimize-model and of isomer.h in one table: names, defaults,
   words, ranges and help. The parser, the defaults of isomer_options and the check of what a caller
   of the library set all use it. A new option is a field in isomer.h and an entry here. */
#include "search/option_table.h"
#include "graphs/feed.h"
#include "ops/backend/backend.h"

const OptionDef optimize_options[] = {
    {.kind = OPT_HEAD, .help = "Sizes"},
    {.name = "input-shape",
     .kind = OPT_LIST,
     .at = offsetof(OptimizeOptions, shape),
     .value = "NAME:1,3,..",
     .help = "Sizes of an input, for timing and checking; open sizes in the model stay open. "
             "May be repeated; NAME: may be left out if there is one input. Open sizes that are "
             "not given are 1 on a first axis, 64 on others (16 where data decides the size), or "
             "what the model requires."},
    {.name = "dim",
     .kind = OPT_LIST,
     .at = offsetof(OptimizeOptions, dim),
     .value = "NAME=N,..",
     .help = "The value of a size that the model names, also for timing and checking only. May be "
             "repeated. If several values are given, the search uses the first, and the result is "
             "checked at all of them. If onnxruntime is the target, it is also timed at each of "
             "them, and the least gain counts."},
    {.name = "fix-dims",
     .kind = OPT_FLAG,
     .at = offsetof(OptimizeOptions, isomer.fix_dims),
     .is_int = true,
     .help = "The sizes that --dim and --input-shape give become numbers in the result, which "
             "then takes no others. More can be computed in advance, and more rules apply."},
    {.kind = OPT_HEAD, .help = "Rules"},
    {.name = "rules",
     .kind = OPT_TEXT,
     .at = offsetof(OptimizeOptions, isomer.rules),
     .value = "FILE|none",
     .help = "Uses the proved rules in FILE instead of the library, or no rules."},
    {.name = "enable",
     .kind = OPT_LIST,
     .at = offsetof(OptimizeOptions, enable),
     .value = "RULE",
     .help = "Uses only the rule with this name or identifier; repeat it for more rules."},
    {.name = "disable",
     .kind = OPT_LIST,
     .at = offsetof(OptimizeOptions, disable),
     .value = "RULE",
     .help = "Does not use the rule with this name or identifier. May be repeated."},
    {.name = "allow",
     .kind = OPT_TEXT,
     .at = offsetof(OptimizeOptions, isomer.allow),
     .value = "CLASS",
     .help = "Allows more rules. CLASS is drops, defines, overflows or jumps, or several of "
             "these, joined by + or commas. The first three may make NaN and infinity vanish or "
             "appear; with jumps, single elements may differ by a whole step."},
    {.name = "discover",
     .kind = OPT_REAL,
     .at = offsetof(OptimizeOptions, isomer.discover),
     .value = "SECONDS",
     .help = "First spends this long looking for new rules: graphs that equal the model's "
             "most expensive parts and may cost less. Those that are proved are used in this "
             "run and kept.",
     .least = 0,
     .most = 1e9},
    {.name = "rules-out",
     .kind = OPT_TEXT,
     .at = offsetof(OptimizeOptions, isomer.rules_out),
     .value = "FILE",
     .help = "Adds the new rules that --discover proves to FILE. Default: "
             "isomer/rules/TARGET.rules in $XDG_DATA_HOME or ~/.local/share, which every run "
             "for this target reads unless --rules is given. In a run without "
             "discovery, FILE must exist: its rules are used in addition to the library."},
    {.name = "list-rules",
     .kind = OPT_FLAG,
     .at = offsetof(OptimizeOptions, list_rules),
     .help = "Prints all rules and which of them these options select, then exits. Takes no "
             "files."},
    {.kind = OPT_HEAD, .help = "Costs"},
    {.name = "cost",
     .kind = OPT_WORD,
     .at = offsetof(OptimizeOptions, isomer.cost),
     .value = "measured|flops|nodes",
     .default_text = "measured",
     .help = "What to minimize: time that is measured (the default), time that a model of the "
             "machine estimates (flops), or the number of nodes. With the last two, nothing "
             "is timed, and calls of functions are replaced by their nodes even if nothing "
             "else changes."},
    {.name = "cost-db",
     .kind = OPT_TEXT,
     .at = offsetof(OptimizeOptions, isomer.cost_db),
     .value = "FILE",
     .help = "The file of measured times; it is made if it is missing, but its folder must exist. "
             "Default: isomer/costs.sqlite in $XDG_CACHE_HOME or ~/.cache."},
    {.name = "frozen",
     .kind = OPT_FLAG,
     .at = offsetof(OptimizeOptions, isomer.frozen),
     .is_int = true,
     .help = "Measures nothing; estimates the times that the cost file lacks."},
    {.name = "measure-with",
     .kind = OPT_TEXT,
     .at = offsetof(OptimizeOptions, isomer.measure_with),
     .value = "onnxruntime|CMD",
     .help = "The target instead of the built-in runtime: the Python package onnxruntime, or a "
             "command that times ONNX files (search/README.md)."},
    {.name = "domain",
     .kind = OPT_LIST,
     .at = offsetof(OptimizeOptions, domain),
     .value = "com.microsoft|none",
     .help = "The result may use operators of this domain: com.microsoft is ONNX Runtime's own. "
             "Default: com.microsoft with --measure-with onnxruntime, else none, so that the "
             "result runs anywhere. May be repeated."},
    {.name = "threads",
     .kind = OPT_INT,
     .at = offsetof(OptimizeOptions, isomer.threads),
     .is_int = true,
     .value = "N",
     .default_value = 1,
     .help = "Threads of the target, from 1 (the default) to 64, for the built-in runtime and "
             "onnxruntime: as many as the model will run on, since what is faster on one may be "
             "slower on two. Results are checked on one thread.",
     .least = 1,
     .most = BACKEND_THREADS},
    {.name = "also-threads",
     .kind = OPT_INT,
     .at = offsetof(OptimizeOptions, isomer.also_threads),
     .is_int = true,
     .value = "N",
     .default_value = -1,
     .help = "With onnxruntime as the target: also times the result on N threads. Places that lose "
             "more there than they gain on --threads are undone; if no gain is left, the file "
             "stays as it is. 0: no such timing. -1 (the default): all cores, if --threads is 1 "
             "and timing takes little time.",
     .least = -1,
     .most = BACKEND_THREADS},
    {.name = "backend",
     .kind = OPT_TEXT,
     .at = offsetof(OptimizeOptions, isomer.backend),
     .value = "NAME",
     .default_text = "cpu",
     .help = "The back end of the built-in runtime: cpu (the default), cuda (an NVIDIA GPU), "
             "or the path of a plug-in."},
    {.name = "backend-options",
     .kind = OPT_TEXT,
     .at = offsetof(OptimizeOptions, isomer.backend_options),
     .value = "TEXT",
     .help = "Options of the back end, with commas between them; cuda: tf32 or fp16 (else "
             "float32 is exact), device=N, lib=DIR. All: ops/cpu/README.md, "
             "ops/cuda/README.md."},
    {.kind = OPT_HEAD, .help = "Search"},
    {.name = "search",
     .kind = OPT_WORD,
     .at = offsetof(OptimizeOptions, isomer.search),
     .value = "backtrack|egraph|both",
     .default_text = "backtrack",
     .help = "How to search with the costs of the built-in runtime: by backtracking (the "
             "default), with an e-graph, or both, which takes longer."},
    {.name = "steps",
     .kind = OPT_INT,
     .at = offsetof(OptimizeOptions, isomer.steps),
     .value = "N",
     .default_value = 2000,
     .help = "Ends the search after N graphs have been expanded. Default: 2000.",
     .least = 0,
     .most = 1e12},
    {.name = "time-limit",
     .kind = OPT_REAL,
     .at = offsetof(OptimizeOptions, isomer.time_limit),
     .value = "SECONDS",
     .help = "Ends the search after this time. Default: no limit, or with a measuring command "
             "the limit set by --effort.",
     .least = 0,
     .most = 1e9},
    {.name = "effort",
     .kind = OPT_WORD,
     .at = offsetof(OptimizeOptions, isomer.effort),
     .value = "quick|default|thorough",
     .default_text = "default",
     .help = "How long the search may take with a measuring command: 30, 120 or 600 seconds. A "
             "measurement in progress is completed, and the winner is timed once more."},
    {.name = "keep-best",
     .kind = OPT_FLAG,
     .at = offsetof(OptimizeOptions, isomer.keep_best),
     .is_int = true,
     .help = "Ctrl-C (or SIGTERM) ends the search, and the best result found so far is checked "
             "and written. A second Ctrl-C stops the program, and nothing is written."},
    {.name = "seed",
     .kind = OPT_INT,
     .at = offsetof(OptimizeOptions, isomer.seed),
     .value = "N",
     .default_value = -1,
     .help = "Seed of the random data on which models are compared and timed. Default: 0; with "
             "--replay the seed that the log names.",
     .least = 0,
     .most = 9e15},
    {.name = "fold-limit",
     .kind = OPT_INT,
     .at = offsetof(OptimizeOptions, isomer.fold_limit),
     .value = "BYTES",
     .default_value = -1,
     .help = "Does not compute constants larger than this in advance; they are left to be "
             "computed in each run. Default: no limit.",
     .least = 0,
     .most = 9e15},
    {.name = "max-growth",
     .kind = OPT_INT,
     .at = offsetof(OptimizeOptions, isomer.max_growth),
     .value = "BYTES",
     .default_value = -1,
     .help = "By how much the file may grow. Default: 1 MiB plus a tenth of the file.",
     .least = 0,
     .most = 9e15},
    {.name = "replay",
     .kind = OPT_TEXT,
     .at = offsetof(OptimizeOptions, isomer.replay),
     .value = "LOG",
     .help =
         "Follows a proof log, checking each step, instead of searching. Give the "
         "--measure-with, --rules and --rules-out of the run that wrote it, so that the same "
         "rules are known. The log itself has the sizes that were fixed, and --allow, --domain, "
         "--fold-limit and --max-growth."},
    {.kind = OPT_HEAD, .help = "Check and report"},
    {.name = "check",
     .kind = OPT_INT,
     .at = offsetof(OptimizeOptions, isomer.check),
     .is_int = true,
     .value = "N",
     .default_value = 1,
     .help = "Compares the result with the original on N sets of inputs; 0: no comparison. "
             "Default: 1; without N: 3.",
     .least = 0,
     .most = 1000,
     .when_bare = "3"},
    {.name = "input",
     .kind = OPT_LIST,
     .at = offsetof(OptimizeOptions, input),
     .value = "NAME=WHAT|FILE.npz",
     .help = feed_help},
    {.name = "check-with",
     .kind = OPT_WORD,
     .at = offsetof(OptimizeOptions, isomer.check_with),
     .value = "onnxruntime",
     .help = "Also compares both models in the Python package onnxruntime, on the same integers "
             "but with other random floats; if the outputs differ there, nothing is written."},
    {.name = "rtol",
     .kind = OPT_REAL,
     .at = offsetof(OptimizeOptions, isomer.rtol),
     .value = "X",
     .default_value = -1,
     .help = "Allowed difference relative to the largest element of an output. Default: "
             "depends on the classes of the rules used.",
     .least = 0,
     .most = 1},
    {.name = "atol",
     .kind = OPT_REAL,
     .at = offsetof(OptimizeOptions, isomer.atol),
     .value = "X",
     .default_value = -1,
     .help = "Allowed absolute difference. Default: depends on the classes of the rules used.",
     .least = 0,
     .most = 1e30},
    {.name = "report",
     .kind = OPT_TEXT,
     .at = offsetof(OptimizeOptions, isomer.report),
     .value = "FILE",
     .help = "Writes a report to FILE as JSON (search/REPORT.md)."},
    {.name = "diff",
     .kind = OPT_FLAG,
     .at = offsetof(OptimizeOptions, isomer.diff),
     .is_int = true,
     .help = "Prints the nodes that were removed, added or changed, grouped by rule."},
    {.name = "explain",
     .kind = OPT_LIST,
     .at = offsetof(OptimizeOptions, explain),
     .value = "NODE",
     .help = "Prints which rules made a node of the result, and from what, or what became of a "
             "node of the original. NODE may also be the name of a value. May be repeated."},
    {.name = "html",
     .kind = OPT_TEXT,
     .at = offsetof(OptimizeOptions, isomer.html),
     .value = "FILE",
     .help = "Writes an HTML page to FILE: original and result side by side, costs, rules, "
             "check. Needs Graphviz."},
    {.name = "dot",
     .kind = OPT_TEXT,
     .at = offsetof(OptimizeOptions, isomer.dot),
     .value = "FILE",
     .help = "Writes both graphs to FILE in Graphviz's language, with changes in colour."},
    {.name = "proof-log",
     .kind = OPT_TEXT,
     .at = offsetof(OptimizeOptions, isomer.proof_log),
     .value = "FILE",
     .help = "Writes every step from original to result to FILE, for --replay. With a measuring "
             "command, the bodies of If, Loop and Scan then stay as they are."},
    {.name = "save-as-external-data",
     .kind = OPT_FLAG,
     .at = offsetof(OptimizeOptions, isomer.external),
     .is_int = true,
     .help = "Writes weights to a file next to the result, OUT.onnx.data. Default: they stay "
             "where they are in the model; if they are in other files and the result is in another "
             "folder, these files are copied there."},
    {.name = "external-threshold",
     .kind = OPT_INT,
     .at = offsetof(OptimizeOptions, isomer.external_threshold),
     .value = "BYTES",
     .default_value = 1024,
     .help = "Moves only weights of at least this size, and no lists of up to 64 integers. "
             "Default: 1024.",
     .least = 0,
     .most = 9e15},
    {.name = "headroom",
     .kind = OPT_FLAG,
     .at = offsetof(OptimizeOptions, isomer.headroom),
     .is_int = true,
     .help = "Writes no model. Prints what share of the machine's roofline the model reaches in "
             "ONNX Runtime, which nodes lose how much, and which of them no rule rewrites. Needs "
             "--measure-with onnxruntime; OUT.onnx may be omitted."},
    {.name = "dry-run",
     .kind = OPT_FLAG,
     .at = offsetof(OptimizeOptions, isomer.dry_run),
     .is_int = true,
     .help = "Writes no model; OUT.onnx may be omitted."},
    {.name = "progress",
     .kind = OPT_WORD,
     .at = offsetof(OptimizeOptions, progress),
     .value = "auto|never",
     .default_text = "auto",
     .help = "When to report progress on standard error: auto (the default), if that is a "
             "terminal; or never."},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPT_FLAG,
     .at = offsetof(OptimizeOptions, quiet),
     .help = "Prints no table, progress or warnings."},
    {.name = "verbose",
     .letter = 'v',
     .kind = OPT_COUNT,
     .at = offsetof(OptimizeOptions, verbose),
     .help = "Reports progress even if standard error is not a terminal."},
    OPTION_VERSION(offsetof(OptimizeOptions, version)),
    OPTION_HELP(offsetof(OptimizeOptions, help)),
    {0},
};

static IsomerTexts isomer_texts(StringList list) { return (IsomerTexts){list.n, list.v}; }

void optimize_set_lists(OptimizeOptions *o) {
    o->isomer.input_shape = isomer_texts(o->shape), o->isomer.dim = isomer_texts(o->dim);
    o->isomer.inputs = isomer_texts(o->input);
    o->isomer.enable = isomer_texts(o->enable), o->isomer.disable = isomer_texts(o->disable);
    o->isomer.domain = isomer_texts(o->domain);
    o->isomer.explain = isomer_texts(o->explain);
}

IsomerOptions optimize_defaults(void) {
    OptimizeOptions o = {.isomer = {.size = sizeof o.isomer}};
    options_defaults(optimize_options, &o);
    return o.isomer;
}

/* Whether no text of a list is missing. */
static bool texts_valid(const char *name, const IsomerTexts *t, Error *e) {
    bool valid = t->n >= 0 && (!t->n || t->v);
    for (int k = 0; k < t->n && valid; k++) valid = t->v[k] != NULL;
    return valid || error_set(e, E_USAGE, name, "a list of %d texts that lacks some of them", t->n);
}
bool optimize_options_valid(Arena *a, const IsomerOptions *x, Error *e) {
    OptimizeOptions o = {.isomer = *x}, defaults = {.isomer = optimize_defaults()};
    for (const OptionDef *d = optimize_options; d->name || d->kind == OPT_HEAD; d++)
        if (!option_unset(d, &o, &defaults) && !option_valid(a, d, &o, e)) return false;
    return texts_valid("input_shape", &x->input_shape, e) && texts_valid("dim", &x->dim, e) &&
           texts_valid("inputs", &x->inputs, e) && texts_valid("enable", &x->enable, e) &&
           texts_valid("disable", &x->disable, e) && texts_valid("domain", &x->domain, e) &&
           texts_valid("explain", &x->explain, e);
}
