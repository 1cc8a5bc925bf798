/* stage.c -- computes one value at a time: the part of the graph that computes it is planned and
   run, with the model's inputs and the values already known as inputs. What is made lives as long
   as the World. Sizes are mostly determined by a few numbers made of others. These are computed by
   the CPU's back end even if the device is another one, since that would first compile a kernel for
   each and wait for each. */
#include "graphs/plan/stage.h"
#include "graphs/oracle.h"
#include "ops/core/element.h"
#include <string.h>

typedef struct Known {
    Value value;
    const void *bytes;
} Known;
struct Stage {
    World *w;
    const Backend *backend;
    Device *device;
    StageInput input;
    void *user;
    int n, room;
    Known *known;
};

Stage *stage_new(World *w, const Backend *backend, Device *device, StageInput input, void *user) {
    Stage *s = ARENA_NEW(w->arena, Stage, 1);
    *s = (Stage){.w = w, .backend = backend, .device = device, .input = input, .user = user};
    return s;
}

static const void *known_bytes(const Stage *s, Value v) {
    for (int k = 0; k < s->n; k++)
        if (s->known[k].value == v) return s->known[k].bytes;
    return NULL;
}

void stage_keep(Stage *s, Value v, const void *bytes) {
    ARENA_GROW(s->w->arena, s->known, s->room, s->n + 1);
    s->known[s->n++] = (Known){v, bytes};
}

int stage_count(const Stage *s) { return s->n; }
Value stage_known(const Stage *s, int k) { return s->known[k].value; }

static const void *input_bytes(Stage *s, const Model *m, int k) {
    const Type *t = value_type(s->w, model_graph(m)->in[k]);
    int64_t dim[RANK_MAX], n;
    const void *usual =
        oracle_dims(s->w, t, (Sizes){0}, dim, &n) ? model_input_default(m, k, t->dtype, n) : NULL;
    return s->input(s->user, k, model_input_name(m, k), t, usual);
}

/* Collects the known values that the graph's output depends on as the inputs of *g. Returns false
   if it depends on an input of the model that nothing gives. */
static bool inputs_of(Stage *s, const Model *m, Graph *g, const void ***bytes) {
    Arena *a = s->w->scratch;
    const Graph *model = model_graph(m);
    Value *in = ARENA_NEW(a, Value, s->n + model->nin);
    for (int k = 0; k < s->n; k++) in[k] = s->known[k].value;
    g->in = in, g->nin = s->n;
    NodeList live = graph_live(s->w, a, g);
    for (int k = 0; k < model->nin; k++)
        for (int j = 0; j < live.n; j++)
            if (live.v[j] == model->in[k] && !known_bytes(s, model->in[k])) {
                const void *data = input_bytes(s, m, k);
                if (!data) return false;
                stage_keep(s, model->in[k], data);
            }
    Uses uses = graph_uses(s->w, a, g, live);
    in = ARENA_NEW(a, Value, s->n);
    *bytes = ARENA_NEW(a, const void *, s->n);
    g->nin = 0;
    for (int k = 0; k < s->n; k++) {
        Value v = s->known[k].value;
        if (v >= uses.n || (!uses.count[v] && !uses.outputs[v])) continue;
        (*bytes)[g->nin] = s->known[k].bytes, in[g->nin++] = v;
    }
    g->in = in;
    return true;
}

/* Whether a CPU computes the plan sooner than a device compiles a kernel. */
static bool is_small(const Plan *p) {
    const double most = 1 << 20;
    double work = 0;
    for (int k = 0; k < p->nstep; k++) work += p->step[k].flops + p->step[k].bytes;
    return work <= most;
}
/* Makes a runner on the device or, for a small plan, on the CPU; the CPU's device is then opened as
   `cpu`. */
static Runner *stage_runner(const Stage *s, const Plan *p, OpenDevice *cpu, Error *e) {
    if (s->backend == backend_open("cpu", NULL) || !is_small(p))
        return runner_new(p, s->backend, s->device, e);
    if (!device_open(cpu, arena_escape(p->arena), "cpu", "", e)) return NULL;
    return runner_new(p, cpu->backend, cpu->device, e);
}

static void *stage_run(Stage *s, const Graph *g, const void *const in[], size_t n) {
    Error e = {0};
    Arena *a = arena_new(arena_escape(s->w->arena), 0);
    OpenDevice *cpu = ARENA_NEW(a, OpenDevice, 1);
    Plan *plan = plan_build(s->w, a, g, (Sizes){0}, &e);
    Runner *runner = plan ? stage_runner(s, plan, cpu, &e) : NULL;
    void *out = runner ? arena_alloc(s->w->arena, n ? n : 1) : NULL;
    if (runner && !runner_run(runner, in, &out, &e)) out = NULL;
    runner_free(runner);
    device_close(cpu);
    arena_free(a);
    return out;
}

bool stage_value(void *stage, const Model *m, Value v, Type *t, const void **bytes) {
    Stage *s = stage;
    int64_t dim[RANK_MAX], count;
    *t = *value_type(s->w, v);
    *bytes = known_bytes(s, v);
    if (*bytes) return true;
    if (!element_readable(t->dtype) || !oracle_dims(s->w, t, (Sizes){0}, dim, &count)) return false;
    ArenaMark mark = arena_mark(s->w->scratch);
    Graph g = {.nout = 1, .out = &v};
    const void **in;
    if (inputs_of(s, m, &g, &in))
        *bytes = known_bytes(s, v) ? known_bytes(s, v)
                                   : stage_run(s, &g, in, element_bytes(t->dtype, count));
    arena_reset(s->w->scratch, mark);
    if (*bytes && !known_bytes(s, v)) stage_keep(s, v, *bytes);
    return *bytes != NULL;
}
