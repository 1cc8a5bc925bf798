/* other_sizes.c -- times a candidate at the sets of sizes that --dim lists; the worst ratio
   counts. */
#include "search/other_sizes.h"
#include "search/command_target.h"
#include "search/confirm.h"
#include "search/input_data.h"

static bool time_at(CommandSearch *s, ModelCandidate *c, int size_set) {
    CommandSearch *at = command_search_again(s, c, s->threads);
    int second = 1;
    const bool good = run_select_sizes(s->r, size_set) && command_target(at) &&
                      confirm(at, s->confirm_until, &second);
    command_target_stop(at);
    if (!good) return false;
    const double ratio = at->candidate[1].ratio;
    const char *named = run_size_set_name(s->r, size_set);
    run_say(s->r, "at %s: %.4f", named, ratio);
    if (ratio > 0 && ratio <= c->ratio) return true;
    c->ratio = ratio;
    s->baseline = at->baseline;
    s->r->stats.sizes = named;
    return true;
}

bool other_sizes_time(CommandSearch *s, ModelCandidate *c) {
    const int n = run_size_set_count(s->r);
    for (int size_set = 1; size_set < n && c->ratio > 0; size_set++)
        if (!time_at(s, c, size_set)) return false;
    return n == 1 || run_select_sizes(s->r, 0);
}
