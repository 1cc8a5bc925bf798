/* other_sizes.c -- times a candidate at the sets of sizes that --dim lists; the worst ratio
   counts. */
#include "search/command/other_sizes.h"
#include "search/command/command_target.h"
#include "search/command/confirm.h"
#include "search/input_data.h"

/* Returns at how many sets of sizes the target times files: a command of the user's own is not told
   any sizes. */
static int sizes_timed(const CommandSearch *s) {
    return s->reads_inputs ? run_size_set_count(s->r) : 1;
}

/* Returns what the candidate gains over the original, or the original over the candidate. */
static SizeGain gain_at(const CommandSearch *s, const ModelCandidate *c, const char *sizes) {
    if (!s->original_replaces || c->ratio <= 0) return (SizeGain){c->ratio, s->baseline, sizes};
    return (SizeGain){1 / c->ratio, s->baseline * c->ratio, sizes};
}

SizeGain first_sizes_gain(const CommandSearch *s, const ModelCandidate *c) {
    return gain_at(s, c, sizes_timed(s) > 1 ? run_size_set_name(s->r, 0) : NULL);
}

/* Times the candidate at one set of sizes, which replaces *worst if the candidate gains less there
   or fails. */
static bool time_at(CommandSearch *s, const ModelCandidate *c, int size_set, SizeGain *worst) {
    CommandSearch *at = command_search_again(s, c, s->threads);
    int second = 1;
    const bool good = run_select_sizes(s->r, size_set) && command_target(at) &&
                      confirm(at, s->confirm_until, &second);
    command_target_stop(at);
    if (!good) return false;
    const SizeGain here = gain_at(at, &at->candidate[1], run_size_set_name(s->r, size_set));
    run_say(s->r, "at %s: %.4f", here.sizes, here.ratio);
    if (here.ratio <= 0 || here.ratio > worst->ratio) *worst = here;
    return true;
}

bool other_sizes_time(CommandSearch *s, const ModelCandidate *c, SizeGain *worst) {
    const int n = sizes_timed(s);
    *worst = first_sizes_gain(s, c);
    for (int size_set = 1; size_set < n && worst->ratio > 0; size_set++)
        if (!time_at(s, c, size_set, worst)) return false;
    return n == 1 || run_select_sizes(s->r, 0);
}
