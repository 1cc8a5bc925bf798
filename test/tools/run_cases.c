/* run_cases.c -- runs many models on given inputs in one process, by the importer, a plan, and the
   CPU back end or that of a plug-in.

   Usage: run_cases [PLUGIN]. Standard input consists of lines with fields separated by tabs:

   case MODEL                   begins a case
   in NAME FILE FROM BYTES N..  an input of sizes N..: BYTES bytes of FILE, from offset FROM on
   run FILE                     runs the model; its outputs are appended to FILE

   A run is answered by a line "out TYPE BYTES N.." for each output and a line "done", or by a line
   "cannot OPERATOR: REASON" or "failed WHERE: REASON". */
#include "graphs/oracle.h"
#include "graphs/plan/stage.h"
#include "ops/backend/backend.h"
#include "ops/core/element.h"
#include "graphs/world.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 64 };
typedef struct Input {
    char name[128];
    int rank;
    int64_t dim[16];
    size_t bytes;
    void *data;
} Input;
typedef struct Cases {
    const Backend *backend;
    Device *device;
    char model[4096];
    int nin;
    Input in[INPUTS];
} Cases;

static const Input *input_named(const Cases *c, const char *name) {
    for (int k = 0; k < c->nin; k++)
        if (!strcmp(c->in[k].name, name)) return &c->in[k];
    return NULL;
}
static int64_t size_of(const void *user, const char *name, int axis, const char *param) {
    const Input *in = input_named(user, name);
    (void)param;
    return in && axis < in->rank ? in->dim[axis] : -1;
}
static const void *input_of(void *user, int index, const char *name, const Type *t,
                            const void *usual) {
    (void)usual;
    const Input *in = input_named(user, name);
    (void)index, (void)t;
    return in ? in->data : NULL;
}

static void read_case(Cases *c, char *line) {
    for (int k = 0; k < c->nin; k++) free(c->in[k].data);
    c->nin = 0;
    snprintf(c->model, sizeof c->model, "%s", line);
}
static void read_in(Cases *c, char *line) {
    Input *in = &c->in[c->nin < INPUTS ? c->nin++ : INPUTS - 1];
    char *save, *name = strtok_r(line, "\t", &save), *path = strtok_r(NULL, "\t", &save),
                *from = strtok_r(NULL, "\t", &save), *bytes = strtok_r(NULL, "\t", &save);
    memset(in, 0, sizeof *in);
    if (!bytes) return;
    snprintf(in->name, sizeof in->name, "%s", name);
    in->bytes = (size_t)strtoull(bytes, NULL, 10);
    for (char *n = strtok_r(NULL, "\t", &save); n && in->rank < 16; n = strtok_r(NULL, "\t", &save))
        in->dim[in->rank++] = atoll(n);
    in->data = calloc(in->bytes + 16, 1);
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, atol(from), SEEK_SET) || fread(in->data, 1, in->bytes, f) != in->bytes)
        in->bytes = 0;
    if (f) fclose(f);
}

static bool cannot(const Model *m, World *w, NodeId at, const Error *e) {
    const char *type = NULL, *why = NULL;
    if (at) model_node_name(m, at, &type), why = model_import_reason(m, at);
    printf("cannot %s: %s\n",
           type ? type
           : at ? node_get(w, at).op->name
                : "?",
           why ? why : e->reason);
    return false;
}
static bool failed(const char *what, const Error *e) {
    printf("failed %s: %s %s\n", what, e->place, e->reason);
    return false;
}

static bool inputs_fit(const Cases *c, World *w, const Model *m, const void **in) {
    const Graph *g = model_graph(m);
    for (int k = 0; k < g->nin; k++) {
        const Input *x = input_named(c, model_input_name(m, k));
        const Type *t = value_type(w, g->in[k]);
        int64_t dim[RANK_MAX], n;
        if (!x || !t->known || t->dim.n != x->rank || !oracle_dims(w, t, (Sizes){0}, dim, &n) ||
            element_bytes(t->dtype, n) != x->bytes)
            return printf("cannot input: %s is not a tensor of numbers\n", model_input_name(m, k)),
                   false;
        in[k] = x->data;
    }
    return true;
}

static bool write_outputs(World *w, const Graph *g, void *const out[], const char *path) {
    FILE *f = fopen(path, "ab");
    for (int k = 0; f && k < g->nout; k++) {
        const Type *t = value_type(w, g->out[k]);
        int64_t dim[RANK_MAX], n;
        oracle_dims(w, t, (Sizes){0}, dim, &n);
        size_t bytes = element_bytes(t->dtype, n);
        printf("out\t%d\t%zu", (int)t->dtype, bytes);
        for (int a = 0; a < t->dim.n; a++) printf("\t%" PRId64, dim[a]);
        printf("\n");
        fwrite(out[k], 1, bytes, f);
    }
    return f && !fclose(f) && printf("done\n");
}

static bool run_model(const Cases *c, World *w, const Model *m, const char *path) {
    const Graph *g = model_graph(m);
    Error e = {0};
    const void **in = ARENA_NEW(w->arena, const void *, g->nin);
    void **out = ARENA_NEW(w->arena, void *, g->nout);
    NodeId at = plan_obstacle(w, w->arena, g, (Sizes){0}, &e);
    if (at) return cannot(m, w, at, &e);
    if (!inputs_fit(c, w, m, in)) return false;
    for (int k = 0; k < g->nout; k++) {
        int64_t dim[RANK_MAX], n;
        if (!oracle_dims(w, value_type(w, g->out[k]), (Sizes){0}, dim, &n))
            return printf("cannot output: a size is not known\n"), false;
        out[k] = arena_alloc(w->arena, element_bytes(value_type(w, g->out[k])->dtype, n));
    }
    Plan *plan = plan_build(w, w->arena, g, (Sizes){0}, &e);
    Runner *runner = plan ? runner_new(plan, c->backend, c->device, &e) : NULL;
    bool done = runner && runner_run(runner, in, out, &e);
    runner_free(runner);
    return done ? write_outputs(w, g, out, path) : failed("run", &e);
}

static void run(Cases *c, const char *path) {
    World *w = graph_world_new(NULL, 0);
    Error e = {0};
    const OpenOptions open = {.size = size_of,
                              .size_user = c,
                              .value = stage_value,
                              .value_user = stage_new(w, c->backend, c->device, input_of, c)};
    Model *m = model_open_with(w, c->model, &open, &e);
    if (m) run_model(c, w, m, path);
    else failed("open", &e);
    model_close(m);
    world_free(w);
    fflush(stdout);
}

int main(int argc, char **argv) {
    static Cases c;
    char *line = NULL, why[256] = "";
    size_t room = 0;
    Error e = {0};
    c.backend = backend_open(argc > 1 ? argv[1] : "cpu", &e);
    c.device = c.backend ? c.backend->open("", why, sizeof why) : NULL;
    if (!c.device) return 5;
    while (getline(&line, &room, stdin) > 0) {
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, "case\t", 5)) read_case(&c, line + 5);
        else if (!strncmp(line, "in\t", 3)) read_in(&c, line + 3);
        else if (!strncmp(line, "run\t", 4)) run(&c, line + 4);
    }
    read_case(&c, (char[]){""});
    c.backend->close(c.device);
    free(line);
    return 0;
}
