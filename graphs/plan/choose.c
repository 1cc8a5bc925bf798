/* choose.c -- chooses the fastest algorithm for each step. A time is looked up in memory, then in
   the cost file, and then measured; if nothing is measured, the model of costs gives it. The key
   consists of the step's text, the number of the algorithm and which operands are known weights;
   the device's identity stands beside it.

   Timing stops early for an algorithm that is clearly not faster than the best so far. The time
   measured until then is stored as its cost, so that no later run measures it again. */
#include "graphs/plan/choose.h"
#include "graphs/plan/plan_inner.h"
#include "graphs/plan/profile.h"
#include "graphs/plan/weights.h"
#include <math.h>
#include <string.h>

enum {
    VIEWS = 64,    /* a step with more views is priced by the model, not timed */
    IDENTITY = 512 /* bytes of a device's identity */
};
/* An algorithm is taken instead of a lower-numbered one only if it takes at most this share of the
   time: smaller differences are noise, and the choice must not depend on noise. */
#define CLEARLY_FASTER 0.97

typedef struct Chosen {
    double seconds;
    int choice;
} Chosen;
struct Chooser {
    Arena *arena;
    CostDb *db;
    ChooseOptions options;
    const Backend *backend;
    Device *device;
    char identity[IDENTITY];
    Intern *texts;  /* keys of the steps seen so far */
    Chosen *chosen; /* by number of the key in `texts` */
    uint32_t room;
    int missing, found; /* see chooser_missing, chooser_found */
    bool remeasure;     /* times of steps in the file are ignored */
    double cold; /* seconds that a byte of weights takes beyond the time of a step alone; < 0: not
                    known yet */
};

/* ---- the model of costs without measurement: a step takes the time of its call plus the longer of
   its arithmetic and its memory traffic. The rates are rounded ones of a server's core. They need
   only order alternatives; where times matter, they are measured. */

static const struct {
    double flops, bytes; /* per second */
} rates[STEP_KIND_COUNT] = {
    [S_GEMM] = {80e9, 12e9}, [S_CONV] = {80e9, 12e9},  [S_POOL] = {4e9, 8e9},
    [S_EWISE] = {4e9, 8e9},  [S_REDUCE] = {4e9, 8e9},  [S_COPY] = {1e12, 6e9},
    [S_FILL] = {1e12, 8e9},  [S_SOFTMAX] = {1e9, 6e9}, [S_LOOP] = {0.3e9, 4e9},
    [S_OP] = {0.3e9, 4e9},   [S_SAMPLE] = {2e9, 4e9},  [S_ROWS] = {4e9, 8e9},
};
#define PER_CALL 0.5e-6 /* seconds to start a step, whatever it computes */
/* Operations for each byte; an operator that needs more has products inside. */
#define DENSE 8.0

double choose_model(StepKind kind, double flops, double bytes) {
    if (kind == S_OP && flops > DENSE * bytes) kind = S_GEMM;
    return PER_CALL + fmax(flops / rates[kind].flops, bytes / rates[kind].bytes);
}

/* ---- one algorithm */

/* The seconds of an algorithm; < 0 if they are neither known nor measurable. Beyond
   `give_up_seconds`, the exact time does not matter. */
static double time_algorithm(Chooser *c, Text *key, const PlanStep *s, int choice,
                             const bool known[], int copies, double give_up_seconds) {
    Error why = {0}, ignored = {0};
    const uint32_t size = (uint32_t)key->size;
    double seconds = -1;
    text_add(key, " choice %d", choice);
    if (copies > 1) text_add(key, " in turn with %d others", copies - 1);
    bool found =
        c->db && !c->remeasure && costdb_get(c->db, "step", c->identity, key->data, &seconds);
    c->found += found;
    if (!found && !c->options.frozen) {
        seconds = profile_step(&(StepTiming){.backend = c->backend,
                                             .device = c->device,
                                             .step = &s->step,
                                             .choice = choice,
                                             .known = known,
                                             .copies = copies,
                                             .seed = c->options.seed,
                                             .give_up_seconds = give_up_seconds},
                               &why);
        if (seconds < 0) seconds = INFINITY; /* it cannot be run */
        /* A lack of memory may be over when the file is read. */
        const bool keep = c->db && why.kind != E_MEMORY && why.kind != E_LIMIT;
        if (keep && c->remeasure) costdb_forget(c->db, "step", c->identity, key->data, &ignored);
        if (keep) costdb_put(c->db, "step", c->identity, key->data, seconds, &ignored);
    }
    key->size = size;
    key->data[size] = 0;
    return seconds;
}

static Chosen fastest(Chooser *c, Text *key, const PlanStep *s, const bool known[], int copies) {
    const double model = choose_model(s->step.kind, s->flops, s->bytes);
    if (!c->options.measured) return (Chosen){model, 0};
    const int n = c->backend->choices(c->device, &s->step);
    Chosen best = {time_algorithm(c, key, s, 0, known, copies, INFINITY), 0};
    if (best.seconds < 0 || isinf(best.seconds)) return c->missing++, (Chosen){model, 0};
    for (int k = 1; k < n; k++) {
        const double seconds =
            time_algorithm(c, key, s, k, known, copies, CLEARLY_FASTER * best.seconds);
        if (seconds >= 0 && seconds < CLEARLY_FASTER * best.seconds) best = (Chosen){seconds, k};
    }
    return best;
}

/* ---- steps and plans */

/* The seconds to add to a step that was timed alone, for weights that the rest of the model
   displaces from the cache; they do not depend on the algorithm. */
static double cold_weights(Chooser *c, double bytes) {
    if (!c->options.measured || bytes <= 0 || c->options.weights <= 0) return 0;
    if (c->cold < 0)
        c->cold = weights_cold(c->backend, c->device, c->db, c->identity, c->options.frozen,
                               c->options.weights);
    return bytes * c->cold;
}

static Chosen *chosen_entry(Chooser *c, const Text *key, bool *is_new) {
    uint32_t before = intern_count(c->texts), id = intern_put(c->texts, key->data, key->size);
    *is_new = id > before;
    ARENA_GROW(c->arena, c->chosen, c->room, id + 1);
    return &c->chosen[id];
}

double choose_step(Chooser *c, Arena *scratch, PlanStep *s, const bool known[]) {
    bool is_new;
    Text key = text_new(scratch);
    step_print(&s->step, &key);
    text_add(&key, " known");
    for (int j = 0; j < s->step.nview; j++)
        if (known[j]) text_add(&key, " %d", j);
    const double bytes = weights_of(&s->step, known);
    const int copies = weights_copies(c->options.weights, bytes, s->flops);
    Chosen *kept = chosen_entry(c, &key, &is_new);
    if (is_new)
        *kept = s->step.nview <= VIEWS
                    ? fastest(c, &key, s, known, copies)
                    : (Chosen){choose_model(s->step.kind, s->flops, s->bytes), 0};
    s->choice = kept->choice;
    return kept->seconds + (copies > 1 ? 0 : cold_weights(c, bytes));
}

/* The bytes of the weights of a plan's products and convolutions. */
static double plan_weights(const Plan *p, const bool constant[], Arena *scratch) {
    double bytes = 0;
    for (int k = 0; k < p->nstep; k++) {
        const Step *s = &p->step[k].step;
        bool *known = ARENA_NEW(scratch, bool, s->nview);
        for (int j = 0; j < s->nview; j++)
            known[j] = s->view[j].rank >= 0 && constant[s->view[j].slot];
        bytes += p->step[k].once ? 0 : weights_of(s, known);
    }
    return bytes;
}

double choose_plan(Chooser *c, Arena *scratch, Plan *p) {
    double sum = 0;
    ArenaMark mark = arena_mark(scratch);
    bool *constant = ARENA_NEW(scratch, bool, p->nslot);
    for (int k = 0; k < p->nslot; k++) constant[k] = p->slot[k].data != NULL;
    if (c->options.weights <= 0) c->options.weights = plan_weights(p, constant, scratch);
    for (int k = 0; k < p->nstep; k++) {
        PlanStep *s = &p->step[k];
        bool *known = ARENA_NEW(scratch, bool, s->step.nview);
        for (int j = 0; j < s->step.nview; j++)
            known[j] = s->step.view[j].rank >= 0 && constant[s->step.view[j].slot];
        if (!s->once) sum += choose_step(c, scratch, s, known);
        for (int j = 0; s->once && j < step_writes(&s->step); j++)
            constant[s->step.view[j].slot] = true;
    }
    arena_reset(scratch, mark);
    return sum;
}

void choose_again(Chooser *c) {
    intern_free(c->texts);
    c->texts = intern_new(c->arena);
    c->remeasure = true;
}

/* ---- making one */

Chooser *chooser_new(Arena *a, CostDb *db, const Backend *backend, Device *device,
                     const ChooseOptions *o, Error *e) {
    Chooser *c = ARENA_NEW(a, Chooser, 1);
    *c = (Chooser){.arena = a, .db = db, .options = *o, .backend = backend, .device = device};
    c->cold = -1;
    if (backend->identity(device, c->identity, sizeof c->identity)) {
        error_set(e, E_ENVIRONMENT, backend->name,
                  "the back end does not identify its device, so times cannot be stored");
        return NULL;
    }
    c->texts = intern_new(a);
    return c;
}

void chooser_free(Chooser *c) {
    if (!c || !c->texts) return;
    intern_free(c->texts);
    c->texts = NULL;
}

int chooser_found(const Chooser *c) { return c->found; }
int chooser_missing(const Chooser *c) { return c->missing; }
const char *chooser_identity(const Chooser *c) { return c->identity; }
