/* eval_op.c -- evaluates operators in double precision, from their definitions, expansions or
   reference kernels, so that tests can compare them with other implementations.

   eval-op table   prints all operators. For each operator a line: name, a (algebraic) or k (known),
                   flags, inputs; for each of its attributes a line: attr, name, kind, fill,
                   default, drawn values; for each of its ONNX spellings a line: onnx, type, since,
                   until, domain, items.
   eval-op run     evaluates cases from standard input. A case consists of the lines
                     op NAME OUTPUTS
                     attr NAME VALUE
                     in TYPE | NUMBERS, or for an input that is left out: in _
                     run
                   and is answered by a line "out TYPE | NUMBERS" for each output or by a line
                   "error REASON", and then by a line "end".
   eval-op plan    the same, but runs the cases by a plan on the CPU back end. */
#include "graphs/plan/execute.h"
#include "graphs/rewrite.h"
#include "ops/backend/backend.h"
#include "ops/core/element.h"
#include "ops/core/eval.h"
#include "graphs/world.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 32, OUTPUTS = 16 };
typedef struct Case {
    World *w;
    const Op *op;
    int nin, nout;
    Attr attr[ATTRS_MAX];
    bool given[ATTRS_MAX];
    Value in[INPUTS];
    Tensor data[INPUTS];
    Error error;
    Tensor *tensor; /* by Value */
    uint32_t ntensor;
} Case;

static bool fail(Case *c, const char *why) {
    return error_set(&c->error, E_INVALID, "", "%s", why ? why : "?");
}

static void read_attr(Case *c, const char *line) {
    char name[64] = "";
    int used = 0;
    sscanf(line, "%63s %n", name, &used);
    int k = c->op ? attrs_find(c->op->attrs, name) : -1;
    Scan s = scan_new("attr", line + used, strlen(line + used), &c->error);
    if (k < 0 || !attr_parse(c->w, &s, &c->op->attrs[k], &c->attr[k])) fail(c, "bad attribute");
    else c->given[k] = true;
}
static int64_t size_of(World *w, Poly p) {
    int64_t n = 0;
    return poly_constant(w, p, &n) ? n : -1;
}
static Tensor tensor_of(World *w, const Type *t) {
    Tensor x = {.rank = t->dim.n};
    for (int a = 0; a < x.rank; a++) x.dim[a] = size_of(w, t->dim.v[a]);
    x.v = ARENA_NEW(w->arena, Number, tensor_count(&x));
    return x;
}
static void read_input(Case *c, const char *line) {
    Type t;
    char name[16];
    int k = c->nin++;
    if (*line == '_') return;
    Scan s = scan_new("in", line, strlen(line), &c->error);
    if (!type_parse(c->w, &s, &t)) return;
    c->data[k] = tensor_of(c->w, &t);
    const char *at = strchr(line, '|') + 1;
    for (int64_t j = 0; j < tensor_count(&c->data[k]); j++) {
        char *end;
        c->data[k].v[j].real = strtod(at, &end);
        at = end;
    }
    snprintf(name, sizeof name, "x%d", k);
    c->in[k] = graph_input(c->w, name, &t);
}

/* Runs a reference kernel on dense copies of the tensors. */
static bool run_kernel(Case *c, const Node *n, const Tensor in[], Tensor out[]) {
    View view[OUTPUTS + INPUTS];
    void *slot[OUTPUTS + INPUTS] = {0};
    int64_t param[OP_PARAMS];
    int nview = n->nout + n->nin, nparam = sig_params(c->w, n->sig, param);
    for (int k = 0; k < nview; k++) {
        bool is_out = k < n->nout;
        view[k] = (View){.slot = k, .rank = -1};
        if (!is_out && !n->in[k - n->nout]) continue;
        const Type *t =
            is_out ? value_type(c->w, n->out + (Value)k) : value_type(c->w, n->in[k - n->nout]);
        const Tensor *x = is_out ? &out[k] : &in[k - n->nout];
        view[k] = view_dense(k, (int32_t)t->dtype, x->rank, x->dim);
        slot[k] = ARENA_NEW(c->w->arena, char, (int64_t)element_bytes(t->dtype, tensor_count(x)));
        for (int64_t j = 0; !is_out && j < tensor_count(x); j++)
            element_set_real(t->dtype, slot[k], j, x->v[j].real);
    }
    Step step = {.kind = S_OP,
                 .nview = nview,
                 .nparam = nparam,
                 .view = view,
                 .param = param,
                 .op = n->op->name};
    if (nparam < 1 || n->op->kernel(&step, slot)) return fail(c, "the kernel refuses");
    for (int k = 0; k < n->nout; k++)
        for (int64_t j = 0; j < tensor_count(&out[k]); j++)
            out[k].v[j].real = element_real((DType)view[k].dtype, slot[k], j);
    return true;
}
static bool run_node(Case *c, const Node *n) {
    Tensor in[INPUTS];
    for (int k = 0; k < n->nin; k++) in[k] = n->in[k] ? c->tensor[n->in[k]] : (Tensor){.rank = -1};
    for (int j = 0; j < n->nout; j++)
        c->tensor[n->out + (Value)j] = tensor_of(c->w, value_type(c->w, n->out + (Value)j));
    Eval eval = {.w = c->w, .num = &numbers_real, .nin = n->nin, .in = in};
    if (!sig_define(c->w, n->sig, 0))
        return n->op->kernel ? run_kernel(c, n, in, &c->tensor[n->out])
                             : fail(c, "no definition and no kernel");
    for (int j = 0; j < n->nout; j++)
        if (!eval_tensor(&eval, sig_define(c->w, n->sig, j), &c->tensor[n->out + (Value)j],
                         &c->error))
            return false;
    return true;
}
static bool run_graph(Case *c, Graph *g) {
    ValueMap map;
    if (!graph_expand(c->w, c->w->arena, g, g, &map, &c->error)) return false;
    c->ntensor = value_last(c->w) + 1;
    c->tensor = ARENA_NEW(c->w->arena, Tensor, c->ntensor);
    for (int k = 0; k < c->nin; k++)
        if (c->in[k]) c->tensor[c->in[k]] = c->data[k];
    NodeList live = graph_live(c->w, c->w->arena, g);
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(c->w, live.v[k]);
        if (strcmp(n.op->name, "input") && !run_node(c, &n)) return false;
    }
    return true;
}
/* The same by a plan on the CPU back end, which tests the steps that the operator, or the structure
   of its definition, is lowered to. */
static bool run_plan(Case *c, Graph *g) {
    ValueMap map;
    void *in[INPUTS], *out[OUTPUTS];
    if (!graph_expand(c->w, c->w->arena, g, g, &map, &c->error)) return false;
    const Backend *cpu = backend_open("cpu", &c->error);
    char why[256] = "";
    Device *device = cpu ? cpu->open("", why, sizeof why) : NULL;
    Plan *plan = device ? plan_build(c->w, c->w->arena, g, (Sizes){0}, &c->error) : NULL;
    Runner *runner = plan ? runner_new(plan, cpu, device, &c->error) : NULL;
    c->tensor = ARENA_NEW(c->w->arena, Tensor, value_last(c->w) + 1);
    for (int k = 0, given = 0; k < c->nin; k++) {
        if (!c->in[k]) continue;
        DType t = value_type(c->w, c->in[k])->dtype;
        int64_t n = tensor_count(&c->data[k]);
        in[given] = ARENA_NEW(c->w->arena, char, (int64_t)element_bytes(t, n));
        for (int64_t j = 0; j < n; j++) element_set_real(t, in[given], j, c->data[k].v[j].real);
        given++;
    }
    for (int j = 0; j < g->nout; j++) {
        const Type *t = value_type(c->w, g->out[j]);
        c->tensor[g->out[j]] = tensor_of(c->w, t);
        out[j] = ARENA_NEW(c->w->arena, char,
                           (int64_t)element_bytes(t->dtype, tensor_count(&c->tensor[g->out[j]])));
    }
    bool good = runner && runner_run(runner, (const void *const *)in, out, &c->error);
    for (int j = 0; good && j < g->nout; j++) {
        Tensor *y = &c->tensor[g->out[j]];
        for (int64_t k = 0; k < tensor_count(y); k++)
            y->v[k].real = element_real(value_type(c->w, g->out[j])->dtype, out[j], k);
    }
    if (runner) runner_free(runner);
    if (device) cpu->close(device);
    return good || fail(c, why);
}

static bool run(Case *c, bool planned) {
    const char *why = NULL;
    if (c->error.kind) return false;
    if (!c->op) return fail(c, "no such operator");
    if (!node_attrs(c->w, c->op, c->in[0], c->given, c->attr, &why)) return fail(c, why);
    Value first = node_make(c->w, c->op, c->attr, c->nin, c->in, c->nout, &why), out[OUTPUTS],
          in[INPUTS];
    if (!first) return fail(c, why);
    Graph g = {.nout = node_get(c->w, first).nout, .in = in, .out = out};
    for (int k = 0; k < c->nin; k++)
        if (c->in[k]) in[g.nin++] = c->in[k];
    for (int j = 0; j < g.nout; j++) out[j] = first + (Value)j;
    if (!(planned ? run_plan(c, &g) : run_graph(c, &g))) return false;
    for (int j = 0; j < g.nout; j++) {
        Text t = text_new(c->w->arena);
        type_print(c->w, value_type(c->w, g.out[j]), &t);
        printf("out %s |", t.data);
        for (int64_t k = 0; k < tensor_count(&c->tensor[g.out[j]]); k++)
            printf(" %.17g", c->tensor[g.out[j]].v[k].real);
        printf("\n");
    }
    return true;
}

static void begin(Case *c, const char *line) {
    char name[64] = "";
    if (c->w) world_free(c->w);
    *c = (Case){.w = graph_world_new(NULL, 0)};
    sscanf(line, "%63s %d", name, &c->nout);
    c->op = op_find(name);
}
static int run_cases(bool planned) {
    char *line = NULL;
    size_t room = 0;
    Case c = {0};
    while (getline(&line, &room, stdin) > 0) {
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, "op ", 3)) begin(&c, line + 3);
        else if (!strncmp(line, "attr ", 5)) read_attr(&c, line + 5);
        else if (!strncmp(line, "in ", 3)) read_input(&c, line + 3);
        else if (!strcmp(line, "run")) {
            if (!run(&c, planned)) printf("error %s\n", c.error.reason);
            printf("end\n");
            fflush(stdout);
        }
    }
    if (c.w) world_free(c.w);
    free(line);
    return 0;
}
static int print_table(void) {
    static const char *const kinds[] = {"int", "ints", "word", "real", "dtype", "blob"};
    for (int k = 0; k < op_count(); k++) {
        const Op *op = op_at(k);
        printf("op %s %c %u | %s\n", op->name, op_algebraic(op) ? 'a' : 'k', op->flags, op->in);
        for (const AttrDef *d = op->attrs; d && d->name; d++)
            printf("attr %s %s %d | %s | %s\n", d->name, kinds[d->kind], d->fill,
                   d->init ? d->init : "", d->draw ? d->draw : "");
        for (const OnnxMap *m = op->onnx; m && m->type; m++)
            printf("onnx %s %d %d %s | %s\n", m->type, m->since, m->until,
                   *m->domain ? m->domain : "-", m->attrs);
    }
    return 0;
}
int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "table")) return print_table();
    if (argc == 2 && !strcmp(argv[1], "run")) return run_cases(false);
    if (argc == 2 && !strcmp(argv[1], "plan")) return run_cases(true);
    fprintf(stderr, "usage: eval-op table | run | plan\n");
    return 2;
}
