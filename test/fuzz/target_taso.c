/* target_taso.c -- arbitrary bytes as a file of TASO's substitutions, which is converted to rules.
   Each rule prints, and its instance at the first lengths is built or refused. */
#include "rules/taso.h"
#include "test/fuzz/fuzz.h"
#include "graphs/world.h"

static void use_rule(World *w, const Rule *r) {
    WorldMark mark = world_mark(w);
    int length[RULE_BLOCKS];
    Instance x;
    Error e = {0};
    Text text = text_new(w->arena);
    rule_print(r, &text);
    fuzz_need(text.size > 0, "a rule prints");
    rule_lengths_first(r, length);
    if (!rule_instance(w, w->arena, r, length, &x, &e)) fuzz_refused(&e);
    world_reset(w, mark);
}

static void read_and_use(Escape *escape, World *volatile *w, const uint8_t *data, size_t n) {
    *w = graph_world_new(escape, FUZZ_MEMORY);
    RuleSet set = {.arena = (*w)->arena};
    TasoRefusals refused = {0};
    Error e = {0};
    bool ok = taso_parse((*w)->arena, "file", data, n, &set, &refused, &e);
    fuzz_need(ok == (e.kind == E_NONE), "rules or an error");
    if (!ok) fuzz_refused(&e);
    for (int k = 0; k < refused.n; k++)
        fuzz_need(refused.v[k].reason && refused.v[k].reason[0], "a refused rule has a reason");
    for (int k = 0; ok && k < set.n; k++) use_rule(*w, &set.v[k]);
}

int fuzz_taso(const uint8_t *data, size_t size) {
    Escape escape = {0};
    World *volatile w = NULL;
    if (size > FUZZ_BYTES) return 0;
    if (setjmp(escape.here)) fuzz_refused(&escape.error);
    else read_and_use(&escape, &w, data, size);
    world_free(w);
    return 0;
}
