/* command_report.c -- collects what a search with a measuring command found, for the table and the
   report. */
#include "search/command/command_report.h"
#include "search/rank.h"

static const char *node_name(const CommandSearch *s, int node) {
    const char *type, *name;
    for (Value v = 1; v < s->origins.n; v++) {
        if (s->origins.node[v] != node + 1) continue;
        name = model_node_name(s->r->source.model, value_node(s->r->w, v), &type);
        return name && *name ? name : type ? type : "";
    }
    return "";
}

/* Returns the names of the rules that a place uses, separated by spaces. */
static const char *rule_names(CommandSearch *s, const Place *p) {
    Text t = text_new(s->r->arena);
    for (int k = 0; k < p->nrule; k++) text_add(&t, "%s%s", k ? " " : "", p->rule[k]);
    return t.data;
}

/* Whether an earlier place of the list, made by another set, has the same change at the same
   node. */
static bool met_before(const CommandSearch *s, int k, const int place[]) {
    const Place *p = &s->places.place[place[k]];
    for (int j = 0; j < k; j++)
        if (s->places.place[place[j]].node[0] == p->node[0] &&
            s->prices.part_of[place[j]] == s->prices.part_of[place[k]])
            return true;
    return false;
}

int command_gains(CommandSearch *s, int nplace, const int place[], const PlaceGain **out) {
    Arena *a = s->r->arena;
    PlaceGain *list = ARENA_NEW(a, PlaceGain, nplace), *sorted = ARENA_NEW(a, PlaceGain, nplace);
    int *price = ARENA_NEW(a, int, nplace), *order = ARENA_NEW(a, int, nplace), n = 0, m = 0;
    double *gain = ARENA_NEW(a, double, nplace);
    for (int k = 0; k < nplace; k++) {
        const Place *p = &s->places.place[place[k]];
        const int at = s->prices.part_of[place[k]];
        const PartPrice *cost = &s->prices.part[at];
        int same = 0;
        if (met_before(s, k, place)) continue;
        for (; same < n && price[same] != at; same++) {}
        if (same < n) list[same].count++;
        else
            price[n] = at, list[n++] = (PlaceGain){.node = node_name(s, p->node[0]),
                                                   .rules = rule_names(s, p),
                                                   .nposition = p->n,
                                                   .position = p->node,
                                                   .count = 1,
                                                   .before = cost->seconds[0],
                                                   .after = cost->seconds[1],
                                                   .expected = cost->expected};
    }
    for (int k = 0; k < n; k++) m = rank_insert(m, n, order, gain, k, place_total(&list[k]));
    for (int k = 0; k < n; k++) sorted[k] = list[order[k]];
    *out = sorted;
    return n;
}

void command_keep_reason(CommandSearch *s) {
    Arena *a = s->r->arena;
    const double part = s->baseline > 0 ? s->promised / s->baseline * 100 : 0;
    int timed = 0;
    for (int k = 0; k < s->prices.npart; k++)
        timed += s->prices.part[k].seconds[0] > 0 && !s->prices.part[k].expected;
    const bool over = s->places.rounds_end.at < STOP_NEVER || s->places.alone_end.at < STOP_NEVER;
    s->r->stats.reason =
        s->places.n == 0
            ? over ? "the search ran out of time before any rule was applied (--time-limit)"
                   : "no rule applies anywhere"
            : arena_format(
                  a,
                  "rules apply at %d place%s, %d of them different, %d timed%s; by "
                  "themselves %d gain, together %.1f %% of the model's time%s",
                  s->places.n, s->places.n == 1 ? "" : "s", s->prices.npart, timed,
                  s->prices.parts_end.at < STOP_NEVER ? " until time ran out (--time-limit)" : "",
                  s->nranked, part,
                  !s->prices.ended ? ""
                  : s->prices.whole_timed && !s->prices.whole_gains
                      ? ", but the whole model gains none of it: the search ended there"
                      : ": the search ended there");
}
