/* page.c -- prints the HTML page. It has no scripts and loads nothing; long parts can be folded
   (<details>). Text that comes from a model or a rule is escaped. */
#include "ops/base/file.h"
#include "search/effect.h"
#include "search/rank.h"
#include "search/show/page_draw.h"
#include "search/show/picture.h"
#include "search/show/report.h"
#include <ctype.h>

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
    "content=\"width=device-width\">\n<style>\n"
    "body{font:15px/1.45 system-ui,Helvetica,Arial,sans-serif;margin:1.5em "
    "auto;max-width:1500px;padding:0 1em;color:#222}\n"
    "h1{font-size:1.4em}h2{font-size:1.15em;margin-top:1.8em;border-bottom:1px solid "
    "#ccc}h3{font-size:1em}\n"
    "table{border-collapse:collapse}td,th{padding:.15em .7em;border-bottom:1px solid "
    "#e4e4e4;text-align:left;vertical-align:top}\n"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}tr.same{color:#888}\n"
    ".pair{display:grid;grid-template-columns:1fr 1fr;gap:1em;align-items:start}\n"
    ".pair>div{border:1px solid "
    "#ddd;border-radius:6px;padding:.5em;overflow:auto;max-height:85vh}.pair "
    "svg{max-width:100%;height:auto}.whole svg{max-width:none}\n"
    ".cap{color:#555;font-size:.85em;margin:0 0 "
    ".4em}pre{background:#f7f7f7;padding:.7em;overflow:auto;font-size:.85em}\n"
    "summary{cursor:pointer;color:#245}code{font-size:.92em}.key span{padding:.05em "
    ".5em;border-radius:4px;margin-right:.6em;border:1px "
    "solid #bbb}\n"
    ".gone{background:#ffb3a7}.new{background:#b5e7b0}.changed{background:#ffe08a}.kept{background:"
    "#f4f4f4}.bad{color:#a00;font-weight:"
    "bold}\n"
    "ul.nodes{list-style:none;padding:0;font:12.5px/1.5 "
    "ui-monospace,monospace;max-height:70vh;overflow:auto}ul.nodes li{padding:0 "
    ".4em;white-space:nowrap}\n"
    "</style>\n";
static const char *const class_of[] = {
    [KEPT] = "kept", [CHANGED] = "changed", [GONE] = "gone", [NEW] = "new"};

static void add_escaped(Text *t, const char *s) {
    for (; *s; s++) {
        if (*s == '<') text_add(t, "&lt;");
        else if (*s == '&') text_add(t, "&amp;");
        else if (*s == '"') text_add(t, "&quot;");
        else text_bytes(t, s, 1);
    }
}

/* ---- numbers */

static void add_gain(Text *t, const char *what, double before, double after, double unit,
                     const char *name) {
    if (!(before >= 0) || !(after >= 0)) return;
    text_add(t, "<tr><td>%s</td><td class=n>%.4g %s</td><td class=n>%.4g %s</td><td class=n>", what,
             before / unit, name, after / unit, name);
    if (before > 0 && after > 0) text_add(t, "%.2f", before / after);
    text_add(t, "</td></tr>\n");
}

/* Says why no rule is applied, as a sentence without its full stop. */
static const char *unchanged_text(const Run *r) {
    if (r->stats.unconfirmed) return "The original is kept, because the result was not confirmed";
    const char *why = run_no_gain(r);
    return arena_format(r->arena, "%c%s%s", toupper((unsigned char)*why), why + 1,
                        run_changes_file(r) ? "" : ": the file is unchanged");
}

static void add_summary(const Changes *c, bool changed, Text *t) {
    const Run *r = c->r;
    ModelStats m = model_stats(r->source.model);
    const int gone = changes_count(c, 0, GONE);
    text_add(t,
             "<p>%s %d of %d nodes understood, %d opaque. %d node%s removed, %d added, %d changed, "
             "%d unchanged.</p>\n",
             changed ? "" : arena_format(t->arena, "<b>%s.</b>", unchanged_text(r)), m.understood,
             m.nodes, m.opaque, gone, gone == 1 ? "" : "s", changes_count(c, 1, NEW),
             changes_count(c, 0, CHANGED), changes_count(c, 0, KEPT));
    text_add(t, "<table><tr><th></th><th class=n>original</th><th class=n>result</th><th "
                "class=n>ratio</th></tr>\n");
    add_gain(t, "nodes in the file", c->side[0].n, c->side[1].n, 1, "");
    add_gain(t, "file", (double)r->stats.bytes_before, (double)r->stats.bytes_after, 1e6, "MB");
    add_gain(t, "arithmetic", r->stats.flops_before, r->stats.flops_after, 1e9, "GFLOP");
    add_gain(t, "predicted time (sum of steps)", r->stats.predicted_before,
             r->stats.predicted_after, 1e-3, "ms");
    add_gain(t, run_time_word(&r->stats), r->stats.measured_before, r->stats.measured_after, 1e-3,
             "ms");
    if (r->stats.also_threads)
        add_gain(t, arena_format(t->arena, "on %d threads", r->stats.also_threads),
                 r->stats.also_before, r->stats.also_after, 1e-3, "ms");
    text_add(t, "</table>\n");
    if (r->stats.nguessed) {
        text_add(t, "<p>Sizes used where none were given: ");
        add_escaped(t, run_guessed_text(&r->stats, t->arena));
        text_add(t, " (--input-shape, --dim).</p>\n");
    }
}

static void add_check(const Changes *c, Text *t) {
    const RunStats *s = &c->r->stats;
    text_add(t, "<h2>Check</h2>\n<p>");
    if (s->checked)
        text_add(
            t,
            "Original and result were compared numerically: greatest difference %.3g, relative "
            "to the largest element %.3g.%s%s",
            s->check_absolute, s->check_relative,
            s->check_unstable ? " Roundings alone move the original's outputs as far." : "",
            s->check_zero ? " All outputs were 0, so the comparison says little." : "");
    else text_add(t, "The result was not compared numerically.");
    text_add(t, " ");
    add_escaped(t, s->check_note);
    if (s->opinion) {
        text_add(t, "</p>\n<p>%s: ", c->r->o->check_with);
        add_escaped(t, s->opinion);
    }
    text_add(t, "</p>\n");
}

static void add_operators(const Changes *c, Text *t) {
    const OpCost *v = c->r->stats.operators;
    text_add(t, "<h2>Costs by operator</h2>\n<p class=cap>Operators as they were imported; one "
                "operator of the file may become several.</p>\n"
                "<table><tr><th>operator</th><th class=n colspan=2>nodes</th><th class=n "
                "colspan=2>GFLOP</th></tr>\n"
                "<tr><th></th><th class=n>original</th><th class=n>result</th><th "
                "class=n>original</th><th class=n>result</th></tr>\n");
    for (int k = 0; k < c->r->stats.noperator; k++)
        text_add(t,
                 "<tr%s><td>%s</td><td class=n>%d</td><td class=n>%d</td><td class=n>%.4f</td><td "
                 "class=n>%.4f</td></tr>\n",
                 v[k].nodes[0] == v[k].nodes[1] ? " class=same" : "", v[k].name, v[k].nodes[0],
                 v[k].nodes[1], v[k].flops[0] / 1e9, v[k].flops[1] / 1e9);
    text_add(t, "</table>\n");
}

static void add_milliseconds(Text *t, const KindCost *k, int side) {
    if (k->seconds[side] >= 0) text_add(t, "<td class=n>%.3f</td>", k->seconds[side] * 1e3);
    else text_add(t, "<td></td>");
}

static void add_kinds(const Changes *c, Text *t) {
    text_add(
        t,
        "<h2>Costs by kind of step</h2>\n<p class=cap>Steps are what the built-in runtime runs: "
        "fused operators count as one step, and steps that depend only on constants are free. "
        "Times are from %s.</p>\n<table><tr><th>step</th><th class=n colspan=2>steps</th><th "
        "class=n colspan=2>ms</th></tr>\n"
        "<tr><th></th><th class=n>original</th><th class=n>result</th><th "
        "class=n>original</th><th class=n>result</th></tr>\n",
        c->r->db ? "the cost file, or from a model of the machine for steps that it lacks"
                 : "a model of the machine");
    for (int k = 0; k < STEP_KIND_COUNT; k++) {
        const KindCost *x = &c->r->stats.kinds[k];
        if (!x->steps[0] && !x->steps[1]) continue;
        text_add(t, "<tr><td>%s</td><td class=n>%d</td><td class=n>%d</td>",
                 step_kind_name((StepKind)k), x->steps[0], x->steps[1]);
        add_milliseconds(t, x, 0);
        add_milliseconds(t, x, 1);
        text_add(t, "</tr>\n");
    }
    text_add(t, "</table>\n");
}

/* ---- rules */

static void add_rules(const Changes *c, Text *t) {
    const Library *l = &c->r->library;
    text_add(
        t, "<h2>Rules that were applied</h2>\n<p class=cap>Each was proved for all sizes before it "
           "was used. The identifier is a digest of "
           "the rule's two sides; the digest after its proof is of the rule, the verdict and the "
           "definitions on which it rests.</p>\n");
    const int *count = derivation_counts(c->d, c->arena);
    for (int k = 0; k < l->n; k++) {
        const Rule *rule = l->rule[k].rule;
        Text text = text_new(c->arena);
        if (!count[k]) continue;
        rule_print(rule, &text);
        text_add(t,
                 "<details><summary><b>%s</b> <code>%s</code> %s, %d time%s, proof "
                 "<code>%s</code></summary><pre>",
                 rule->name, rule->id, classes_text(c->arena, rule->classes), count[k],
                 count[k] == 1 ? "" : "s", rule->digest);
        add_escaped(t, text.data);
        text_add(t, "</pre></details>\n");
    }
}

/* ---- pictures */

static void add_pair(const Pictures *p, int first, const char *class, Text *t) {
    text_add(t,
             "<div class=\"pair %s\"><div><p class=cap>original</p>%s</div><div><p "
             "class=cap>result</p>%s</div></div>\n",
             class, p->svg[first - 1], p->svg[first]);
}

/* Prints the names of the nodes of a place. */
static void add_names(const Changes *c, int place, Text *t) {
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < c->side[side].n; k++) {
            const FileNode *f = &c->side[side].v[k];
            if (f->place != place) continue;
            text_add(t, "<span class=%s>", class_of[f->change]);
            add_escaped(t, change_label(f));
            text_add(t, "</span> ");
        }
    text_add(t, "<br>\n");
}

static void add_rule_names(const Changes *c, int place, Text *t) {
    for (int k = 0; k < c->r->library.n; k++) {
        bool here = false;
        for (int j = 0; j < c->side[1].n && !here; j++)
            here = c->side[1].v[j].place == place &&
                   change_rule(c, &c->side[1].v[j]) == c->r->library.rule[k].rule;
        for (int j = 0; j < c->side[0].n && !here; j++)
            here = c->side[0].v[j].place == place &&
                   change_rule(c, &c->side[0].v[j]) == c->r->library.rule[k].rule;
        if (here) text_add(t, " %s", c->r->library.rule[k].rule->name);
    }
}

/* Returns the gain that was timed at a place, which is recognized by a node of the original that
   belongs to both; NULL: none was. Positions in the file are those of the original only if the
   source was not preprocessed. */
static const PlaceGain *gain_at(const Changes *c, int place) {
    const RunStats *s = &c->r->stats;
    for (int k = 0; k < s->nplace && !source_preprocessed(&c->r->source); k++)
        for (int j = 0; j < s->place[k].nposition; j++)
            if (s->place[k].position[j] < c->side[0].n &&
                c->side[0].v[s->place[k].position[j]].place == place)
                return &s->place[k];
    return NULL;
}

/* Returns a gain as a share of what all timed places gain. */
static double gain_share(const Changes *c, const PlaceGain *g) {
    double sum = 0;
    for (int k = 0; k < c->r->stats.nplace; k++) sum += place_total(&c->r->stats.place[k]);
    return sum > 0 ? place_total(g) / sum : 0;
}

static void add_place(const Changes *c, const Pictures *p, int k, int number, Text *t) {
    const Drawn *d = &p->drawn[k];
    const PlaceGain *g = gain_at(c, d->place);
    text_add(t, "<h3>%d.", number);
    add_rule_names(c, d->place, t);
    if (d->count > 1) text_add(t, " &mdash; %d places like this", d->count);
    if (g && g->before >= 0)
        text_add(t, " &mdash; %.4f ms before, %.4f ms after on the target, %.0f %% of the gain%s",
                 g->before * 1e3, g->after * 1e3, gain_share(c, g) * 100,
                 g->expected ? " (expected, not timed)" : "");
    text_add(t, "</h3>\n");
    if (d->first) add_pair(p, d->first, "", t);
    text_add(t, "<details><summary>%s</summary><p>",
             d->first ? "names of the nodes" : "too large to draw: names of the nodes");
    for (int place = 0; place < c->nplace; place++)
        if (p->like[place] == k) add_names(c, place, t);
    text_add(t, "</p></details>\n");
}

static void add_list(const Changes *c, int side, Text *t) {
    text_add(t, "<div><p class=cap>%s</p><ul class=nodes>\n", side ? "result" : "original");
    for (int k = 0; k < c->side[side].n; k++) {
        const FileNode *f = &c->side[side].v[k];
        text_add(t, "<li class=%s>", class_of[f->change]);
        add_escaped(t, f->type);
        text_add(t, " ");
        add_escaped(t, change_label(f));
        if (change_rule(c, f)) text_add(t, " &larr; %s", change_rule(c, f)->name);
        text_add(t, "</li>\n");
    }
    text_add(t, "</ul></div>");
}

/* Returns the order of the drawn places: the largest gain on the target first, then places that
   were not timed. */
static const int *by_gain(const Changes *c, const Pictures *p) {
    int *order = ARENA_NEW(c->arena, int, p->n), n = 0;
    double *gain = ARENA_NEW(c->arena, double, p->n);
    for (int k = 0; k < p->n; k++) {
        const PlaceGain *g = gain_at(c, p->drawn[k].place);
        n = rank_insert(n, p->n, order, gain, k, g ? place_total(g) : 0);
    }
    return order;
}

static void add_gains(const Changes *c, Text *t) {
    const RunStats *s = &c->r->stats;
    if (!s->nplace) return;
    text_add(t, "<h2>What gained, the largest first</h2>\n<p class=cap>Each place by itself, timed "
                "on the target with the nodes around it; the times are of one of several equal "
                "places.</p>\n<table><tr><th>place, by first node</th><th class=n>count</th><th "
                "class=n>ms before</th><th class=n>ms after</th><th class=n>share</th><th>rules"
                "</th></tr>\n");
    for (int k = 0; k < s->nplace; k++) {
        const PlaceGain *g = &s->place[k];
        text_add(t, "<tr><td>");
        add_escaped(t, g->node);
        text_add(t, "</td><td class=n>%d</td>", g->count);
        if (g->before < 0) text_add(t, "<td class=n></td><td class=n></td><td class=n></td><td>");
        else
            text_add(t, "<td class=n>%.4f</td><td class=n>%.4f</td><td class=n>%.0f %%</td><td>",
                     g->before * 1e3, g->after * 1e3, gain_share(c, g) * 100);
        add_escaped(t, g->rules);
        text_add(t, "%s</td></tr>\n",
                 g->before < 0 ? " (not timed)"
                 : g->expected ? " (expected, not timed)"
                               : "");
    }
    text_add(t, "</table>\n");
}

static void add_headroom(const Changes *c, bool changed, Text *t) {
    if (changed || !c->r->stats.headroom) return;
    text_add(t, "<h2>Headroom</h2>\n<pre>");
    add_escaped(t, c->r->stats.headroom);
    text_add(t, "</pre>\n");
}

static void add_left_out(const Changes *c, Text *t) {
    if (!c->r->left_out) return;
    text_add(t, "<p>Left out, since on data from -1e4 to 1e4 they overflow or hide an overflow: ");
    add_escaped(t, c->r->left_out);
    text_add(t, "</p>\n");
}

static void add_pictures(const Changes *c, const Pictures *p, Text *t) {
    text_add(t, "<h2>What changed</h2>\n<p class=key><span class=gone>gone</span><span "
                "class=new>new</span><span "
                "class=changed>changed</span><span class=kept>as it was</span></p>\n");
    if (!p->n) text_add(t, "<p>Nothing.</p>\n");
    const int *order = by_gain(c, p);
    for (int k = 0; k < p->n; k++) add_place(c, p, order[k], k + 1, t);
    text_add(t, "<h2>The whole graphs</h2>\n");
    if (p->whole) {
        text_add(t, "<details><summary>both as pictures</summary>\n");
        add_pair(p, p->whole, "whole", t);
        text_add(t, "</details>\n");
    }
    text_add(t, "<details><summary>all nodes in their order</summary><div class=pair>");
    add_list(c, 0, t);
    add_list(c, 1, t);
    text_add(t, "</div></details>\n");
}

void page_print(const Changes *c, const Pictures *p, bool changed, Text *t) {
    const char *name = path_name(c->r->in);
    text_add(t, "%s<title>optimize-model: ", head);
    add_escaped(t, name);
    text_add(t, "</title></head><body>\n<h1>optimize-model: ");
    add_escaped(t, name);
    text_add(t, "</h1>\n");
    add_summary(c, changed, t);
    if (changed) add_gains(c, t);
    add_headroom(c, changed, t);
    add_pictures(c, p, t);
    add_operators(c, t);
    add_kinds(c, t);
    add_rules(c, t);
    add_left_out(c, t);
    add_check(c, t);
    text_add(t, "<p class=cap>isomer %s; digest of the original %s</p>\n</body></html>\n",
             isomer_version(), c->r->source.digest);
}
