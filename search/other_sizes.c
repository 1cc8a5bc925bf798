/* other_sizes.c -- times a candidate at the sets of sizes that --dim lists; the worst ratio
   counts. */
#include "search/other_sizes.h"
#include "search/command_target.h"
#include "search/confirm.h"
#include "search/input_data.h"

SizeGain first_sizes_gain(const CommandSearch *s, const ModelCandidate *c) {
    return (SizeGain){.ratio = c->ratio,
                      .baseline = s->baseline,
                      .sizes = run_size_set_count(s->r) > 1 ? run_size_set_name(s->r, 0) : NULL};
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
    const double ratio = at->candidate[1].ratio;
    const char *named = run_size_set_name(s->r, size_set);
    run_say(s->r, "at %s: %.4f", named, ratio);
    if (ratio <= 0 || ratio > worst->ratio) *worst = (SizeGain){ratio, at->baseline, named};
    return true;
}

bool other_sizes_time(CommandSearch *s, const ModelCandidate *c, SizeGain *worst) {
    const int n = run_size_set_count(s->r);
    *worst = first_sizes_gain(s, c);
    for (int size_set = 1; size_set < n && worst->ratio > 0; size_set++)
        if (!time_at(s, c, size_set, worst)) return false;
    return n == 1 || run_select_sizes(s->r, 0);
}
