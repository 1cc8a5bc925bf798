/* command_target.c -- sets the commands that time files. If --measure-with is a single word NAME
   for which there is a helper measure-NAME (helper.h), the helper is run with the sizes of this
   run; anything else is a command. */
#include "search/command/command_target.h"
#include "search/command/command_limits.h"
#include "search/helper.h"
#include <stdlib.h>

CommandSearch *command_search_start(Run *r) {
    CommandSearch *s = ARENA_NEW(r->arena, CommandSearch, 1);
    s->r = r, s->threads = r->o->threads;
    s->folder = run_folder(r->arena, r->error);
    return s;
}

CommandSearch *command_search_again(const CommandSearch *s, const ModelCandidate *candidate,
                                    int threads) {
    CommandSearch *again = ARENA_NEW(s->r->arena, CommandSearch, 1);
    *again = (CommandSearch){.r = s->r,
                             .threads = threads,
                             .original_replaces = s->original_replaces,
                             .folder = s->folder,
                             .origins = s->origins,
                             .ncandidate = 2,
                             .candidate = ARENA_NEW(s->r->arena, ModelCandidate, 2)};
    again->candidate[0] = s->candidate[0], again->candidate[1] = *candidate;
    return again;
}

/* Returns the first 48 bits of a digest of what the helper says that it measures with; < 0: it does
   not say. */
static double ask_identity(Run *r, char *helper) {
    enum { DIGITS = 12 };
    char hash[33], option[] = "--identity", *const argv[] = {helper, option, NULL};
    ChildSaid said;
    if (helper_run(r, argv, &said) || !said.n) return -1;
    hash_hex(said.out, said.n, hash);
    hash[DIGITS] = 0;
    return (double)strtoull(hash, NULL, 16);
}

/* Sets r->target_identity and keeps it in the cost file for frozen runs, which ask no helper. */
static bool find_identity(Run *r, char *helper) {
    const char *name = r->o->measure_with,
               *key = arena_format(r->arena, "%s identity", r->source.digest);
    double number = -1;
    if (r->target_identity) return true;
    if (r->o->frozen) costdb_get(r->db, "target", name, key, &number);
    else {
        number = ask_identity(r, helper);
        if (run_cancelled(r) || !costdb_forget(r->db, "target", name, key, r->error) ||
            (number >= 0 && !costdb_put(r->db, "target", name, key, number, r->error)))
            return false;
    }
    r->target_identity =
        number >= 0 ? arena_format(r->arena, " %012llx", (unsigned long long)number) : "";
    return true;
}

static bool set_helper(CommandSearch *s, char *helper) {
    Run *r = s->r;
    CommandLine w = {.arena = r->arena};
    if (!find_identity(r, helper)) return false;
    words_add(&w, s->device);
    words_add_shapes(&w, &r->inputs);
    if (s->threads > 1) words_add(&w, arena_format(r->arena, "--threads=%d", s->threads));
    s->device = arena_format(r->arena, "%s%s%s", words_command(&w),
                             inputs_digest(&r->inputs, r->error), r->target_identity);
    w.v[0] = helper;
    words_add(&w, "--statistic=ratio");
    if (!words_add_inputs(&w, &r->inputs, s->folder->path, 1, r->error)) return false;
    const char *words = words_command(&w);
    s->whole.command = arena_format(r->arena, "%s " MEASURE_WHOLE, words);
    s->confirming.command = arena_format(r->arena, "%s " MEASURE_CONFIRMING, words);
    s->part.command = arena_format(r->arena, "%s " MEASURE_PART, words);
    return s->reads_inputs = true;
}

bool command_target(CommandSearch *s) {
    Run *r = s->r;
    s->whole.command = s->device = r->o->measure_with;
    char *helper = helper_of_target(r->arena, s->device);
    if (helper) return set_helper(s, helper);
    if (run_targets_onnxruntime(r->o))
        return error_set(r->error, E_ENVIRONMENT, "--measure-with",
                         "its helper measure-onnxruntime is not installed next to this program");
    if (s->threads > 1) s->device = arena_format(r->arena, "%s, %d threads", s->device, s->threads);
    return true;
}

void command_target_stop(CommandSearch *s) {
    TargetProcess *all[] = {&s->whole, &s->part, &s->confirming};
    for (int k = 0; k < 3; k++)
        if (all[k]->target) cleanup_run(&all[k]->cleanup);
}

void command_search_end(CommandSearch *s) {
    command_target_stop(s);
    if (s->folder) cleanup_run(&s->folder->cleanup);
}
