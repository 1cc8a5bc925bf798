/* export_json.c -- exports rules as JSON, one rule a line. Each rule is given as written, with its
   axis blocks, and for each choice of their lengths with every attribute and the type of every
   value. rules/rules.schema.json is the schema. */
#include "ops/base/file.h"
#include "rules/export.h"
#include "ops/operator/digest.h"
#include "rules/outline.h"
#include <cjson/cJSON.h>
#include <string.h>

typedef struct JsonWriter {
    Export *x;
    World *w;
    Arena *arena;     /* for one rule */
    bool *used;       /* for each operator */
    bool failed;      /* cJSON ran out of memory */
    const char *mark; /* what names of results begin with, and no input's name does */
} JsonWriter;

/* ---- cJSON, with its failures recorded in `failed` */

static cJSON *keep_json(JsonWriter *j, cJSON *made) {
    j->failed |= !made;
    return made;
}
static void json_put(JsonWriter *j, cJSON *to, const char *name, cJSON *what) {
    if (!keep_json(j, what)) return;
    if (to && (name ? cJSON_AddItemToObject(to, name, what) : cJSON_AddItemToArray(to, what)))
        return;
    cJSON_Delete(what);
    j->failed = true;
}
static cJSON *object(JsonWriter *j, cJSON *in, const char *name) {
    cJSON *made = cJSON_CreateObject();
    json_put(j, in, name, made);
    return j->failed ? NULL : made;
}
static cJSON *array(JsonWriter *j, cJSON *in, const char *name) {
    cJSON *made = cJSON_CreateArray();
    json_put(j, in, name, made);
    return j->failed ? NULL : made;
}
static void text(JsonWriter *j, cJSON *in, const char *name, const char *value) {
    json_put(j, in, name, cJSON_CreateString(value));
}
static void json_put_number(JsonWriter *j, cJSON *in, const char *name, double value) {
    json_put(j, in, name, cJSON_CreateNumber(value));
}
static void put_texts(JsonWriter *j, cJSON *in, const char *name, const OutlineList *list) {
    cJSON *all = array(j, in, name);
    for (int k = 0; k < list->n; k++) text(j, all, NULL, list->v[k]);
}

/* ---- as written */

static void json_put_attr(JsonWriter *j, cJSON *in, const OutlineAttr *a) {
    if (a->is_list) put_texts(j, in, a->name, &a->value);
    else text(j, in, a->name, a->value.v[0]);
}

static void json_put_side(JsonWriter *j, cJSON *rule, const char *name, const OutlineSide *side) {
    cJSON *x = object(j, rule, name), *nodes = array(j, x, "nodes");
    for (int k = 0; k < side->n; k++) {
        const OutlineNode *n = &side->v[k];
        cJSON *node = object(j, nodes, NULL);
        put_texts(j, node, "results", &n->out);
        text(j, node, "operator", n->op);
        put_texts(j, node, "inputs", &n->in);
        cJSON *attrs = object(j, node, "attributes");
        for (int a = 0; a < n->nattr; a++) json_put_attr(j, attrs, &n->attr[a]);
        j->used[op_index(op_find(n->op))] = true;
    }
    put_texts(j, x, "outputs", &side->out);
}

static bool covers_all(const Rule *rule, const OutlineList *all, int group) {
    for (int k = 0; k < rule->nblock; k++)
        for (int b = 0; b < all->n; b++)
            if (rule->block[k].group == group && !strcmp(rule->block[k].name, all->v[b]))
                return true;
    return false;
}

static void put_axes(JsonWriter *j, cJSON *to, const Rule *rule, const OutlineList *all) {
    cJSON *axes = array(j, to, "axes");
    for (int g = 0; g < rule->ngroup; g++) {
        cJSON *group = object(j, axes, NULL), *blocks = array(j, group, "blocks");
        for (int k = 0; k < rule->nblock; k++)
            if (rule->block[k].group == g) text(j, blocks, NULL, rule->block[k].name);
        json_put_number(j, group, "least", rule->group[g].least);
        json_put_number(j, group, "most", rule->group[g].most);
        json_put(j, group, "all_ranks", cJSON_CreateBool(covers_all(rule, all, g)));
    }
}

static void put_proof(JsonWriter *j, cJSON *to, const Rule *rule, const Outline *o) {
    cJSON *proof = object(j, to, "proof");
    text(j, proof, "verdict", "proved");
    text(j, proof, "class", classes_text(j->arena, rule->classes));
    put_texts(j, proof, "where", &o->condition);
    put_texts(j, proof, "all", &o->all);
    text(j, proof, "definitions", rule->defs);
    text(j, proof, "digest", rule->digest);
}

static void json_put_inputs(JsonWriter *j, cJSON *to, const Outline *o) {
    cJSON *inputs = array(j, to, "inputs");
    for (int k = 0; k < o->ninput; k++) {
        cJSON *in = object(j, inputs, NULL);
        text(j, in, "name", o->input[k].name);
        text(j, in, "element", o->input[k].element);
        put_texts(j, in, "shape", &o->input[k].size);
    }
}

/* ---- for given lengths of its blocks */

static const char *poly_text(JsonWriter *j, Poly p) {
    Text t = text_new(j->arena);
    poly_print(j->w, p, &t);
    return t.data;
}

static void put_lits(JsonWriter *j, cJSON *to, const char *name, int n, const Lit *lit) {
    cJSON *all = array(j, to, name);
    for (int k = 0; k < n; k++) {
        Text t = text_new(j->arena);
        lit_print(j->w, lit[k], &t);
        text(j, all, NULL, t.data);
    }
}

static void put_type(JsonWriter *j, cJSON *to, const Type *t) {
    text(j, to, "element", dtype_name(t->dtype));
    cJSON *shape = array(j, to, "shape");
    for (int d = 0; d < t->dim.n; d++) text(j, shape, NULL, poly_text(j, t->dim.v[d]));
}

static void put_node_attrs(JsonWriter *j, cJSON *to, const Node *n) {
    Attr attr[ATTRS_MAX];
    cJSON *attrs = object(j, to, "attributes");
    sig_attr(j->w, n->sig, attr);
    for (int k = 0; k < attrs_count(n->op->attrs); k++) {
        const AttrDef *def = &n->op->attrs[k];
        Text t = text_new(j->arena);
        if (def->kind == A_INTS) {
            cJSON *list = array(j, attrs, def->name);
            for (int i = 0; i < attr[k].ints.n; i++)
                text(j, list, NULL, poly_text(j, attr[k].ints.v[i]));
            continue;
        }
        attr_print(j->w, def, &attr[k], &t);
        text(j, attrs, def->name, t.data ? t.data : "");
    }
}

static const char *value_name(JsonWriter *j, const int *at, Value v) {
    const char *name = v ? input_name(j->w, v) : "_";
    return name ? name : arena_format(j->arena, "%s%d", j->mark, at[v]);
}

/* Writes the nodes of a graph in the order in which they were made. Results are named $1, $2, ..,
   with more dollars if an input's name begins with as many; inputs keep their names. */
static void put_graph(JsonWriter *j, cJSON *to, const char *name, const Graph *g) {
    NodeList live = graph_live(j->w, j->arena, g);
    int *at = ARENA_NEW(j->arena, int, value_last(j->w) + 1), results = 0;
    cJSON *side = object(j, to, name), *nodes = array(j, side, "nodes");
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(j->w, live.v[k]);
        if (input_name(j->w, n.out)) continue;
        cJSON *node = object(j, nodes, NULL), *out = array(j, node, "results");
        text(j, node, "operator", n.op->name);
        cJSON *in = array(j, node, "inputs");
        for (int i = 0; i < n.nin; i++) text(j, in, NULL, value_name(j, at, n.in[i]));
        put_node_attrs(j, node, &n);
        for (int i = 0; i < n.nout; i++) {
            Value v = n.out + (Value)i;
            at[v] = ++results;
            cJSON *value = object(j, out, NULL);
            text(j, value, "name", value_name(j, at, v));
            put_type(j, value, value_type(j->w, v));
        }
    }
    cJSON *outputs = array(j, side, "outputs");
    for (int k = 0; k < g->nout; k++) text(j, outputs, NULL, value_name(j, at, g->out[k]));
}

static void put_variables(JsonWriter *j, cJSON *to, const Instance *i) {
    cJSON *sizes = array(j, to, "sizes"), *integers = array(j, to, "integers"),
          *reals = array(j, to, "reals");
    for (int k = 0; k < i->nsymbol; k++)
        text(j, i->is_size[k] ? sizes : integers, NULL,
             world_text(j->w, symbol_def(j->w, i->symbol[k]).word));
    for (int k = 0; k < i->nreal; k++) text(j, reals, NULL, i->real[k]);
}

static void put_instance(JsonWriter *j, cJSON *list, const Instance *i) {
    cJSON *to = object(j, list, NULL), *lengths = array(j, to, "lengths");
    for (int g = 0; g < i->rule->ngroup; g++) json_put_number(j, lengths, NULL, i->length[g]);
    put_variables(j, to, i);
    j->mark = "$";
    for (int k = 0; k < i->ninput; k++)
        while (!strncmp(input_name(j->w, i->input[k]), j->mark, strlen(j->mark)))
            j->mark = arena_format(j->arena, "%s$", j->mark);
    cJSON *inputs = array(j, to, "inputs");
    for (int k = 0; k < i->ninput; k++) {
        cJSON *in = object(j, inputs, NULL);
        text(j, in, "name", input_name(j->w, i->input[k]));
        put_type(j, in, value_type(j->w, i->input[k]));
    }
    put_graph(j, to, "from", &i->from);
    put_graph(j, to, "to", &i->to);
    put_lits(j, to, "needs_from", i->nneed_from, i->need_from);
    put_lits(j, to, "needs_to", i->nneed_to, i->need_to);
    put_lits(j, to, "where", i->nwhere, i->where);
}

static bool put_instances(JsonWriter *j, cJSON *to, const Rule *rule, Error *e) {
    int length[RULE_BLOCKS];
    cJSON *list = array(j, to, "instances");
    rule_lengths_first(rule, length);
    do {
        Instance i;
        WorldMark mark = world_mark(j->w);
        if (!rule_instance(j->w, j->arena, rule, length, &i, e)) return false;
        put_instance(j, list, &i);
        world_reset(j->w, mark);
    } while (rule_lengths_next(rule, length));
    return true;
}

/* ---- a rule; the operators */

static bool json_print(JsonWriter *j, cJSON *x, Text *t) {
    char *line = j->failed ? NULL : cJSON_PrintUnformatted(x);
    if (line) text_bytes(t, line, strlen(line));
    j->failed |= !line;
    cJSON_free(line);
    return !j->failed;
}

static bool json_put_rule(JsonWriter *j, cJSON *to, const Rule *rule, Error *e) {
    Outline o;
    if (!outline_read(j->arena, rule, &o, e)) return false;
    text(j, to, "name", rule->name);
    text(j, to, "id", rule->id);
    text(j, to, "source", export_source(rule));
    text(j, to, "section", rule->section);
    text(j, to, "comment", rule->comment);
    put_axes(j, to, rule, &o.all);
    json_put_inputs(j, to, &o);
    json_put_side(j, to, "from", &o.from);
    json_put_side(j, to, "to", &o.to);
    put_texts(j, to, "where", &o.where);
    put_proof(j, to, rule, &o);
    return put_instances(j, to, rule, e);
}

static void put_operator(JsonWriter *j, cJSON *to, const Op *op) {
    char digest[33];
    op_digest(j->w, op, digest);
    text(j, to, "name", op->name);
    text(j, to, "inputs", op->in);
    text(j, to, "results", op->out);
    text(j, to, "definition", digest);
    cJSON *attrs = array(j, to, "attributes"), *onnx = array(j, to, "onnx");
    static const char *const kinds[] = {"integer", "integers",     "enum",
                                        "real",    "element type", "bytes"};
    static const char *const fills[] = {"once", "spatial axis", "side of each spatial axis",
                                        "axis"};
    for (const AttrDef *d = op->attrs; d && d->name; d++) {
        cJSON *a = object(j, attrs, NULL);
        text(j, a, "name", d->name);
        text(j, a, "kind", kinds[d->kind]);
        if (d->words) text(j, a, "values", d->words);
        if (d->init) text(j, a, "default", d->init);
        if (d->init && d->kind == A_INTS) text(j, a, "repeated_for", fills[d->fill]);
    }
    for (const OnnxMap *m = op->onnx; m && m->type; m++) {
        cJSON *a = object(j, onnx, NULL);
        text(j, a, "domain", m->domain ? m->domain : "");
        text(j, a, "type", m->type);
        json_put_number(j, a, "since", m->since);
        if (m->until) json_put_number(j, a, "until", m->until);
    }
}

/* Writes one line for each rule, and frees its memory afterwards. */
static bool json_put_rules(JsonWriter *j, Text *t, Error *e) {
    for (int k = 0; k < j->x->n; k++) {
        cJSON *x = cJSON_CreateObject();
        ArenaMark mark = arena_mark(j->arena);
        bool good = keep_json(j, x) && json_put_rule(j, x, j->x->rule[k], e);
        text_add(t, k ? ",\n" : "\n");
        good = good && json_print(j, x, t);
        cJSON_Delete(x);
        arena_reset(j->arena, mark);
        if (!good) return false;
    }
    return true;
}

static bool put_operators(JsonWriter *j, Text *t) {
    bool first = true, good = true;
    for (int k = 0; k < op_count() && good; k++) {
        if (!j->used[k]) continue;
        cJSON *x = cJSON_CreateObject();
        if (keep_json(j, x)) put_operator(j, x, op_at(k));
        text_add(t, first ? "\n" : ",\n");
        first = false;
        good = json_print(j, x, t);
        cJSON_Delete(x);
    }
    return good;
}

static bool json_write_file(Export *x, const char *path, Error *e) {
    JsonWriter j = {.x = x, .w = x->w, .arena = arena_new(arena_escape(x->arena), 0)};
    Text rules = text_new(x->arena), operators = text_new(x->arena), all = text_new(x->arena);
    j.used = ARENA_NEW(x->arena, bool, op_count());
    bool good = json_put_rules(&j, &rules, e) && put_operators(&j, &operators);
    arena_free(j.arena);
    if (j.failed) return error_set(e, E_MEMORY, path, "out of memory for the JSON text");
    if (!good) return false;
    text_add(&all, "{\"format\":\"isomer-rules\",\"version\":2,\"isomer\":\"%s\",\"operators\":[",
             ISOMER_VERSION);
    if (operators.size) text_bytes(&all, operators.data, operators.size);
    text_add(&all, "\n],\"rules\":[");
    if (rules.size) text_bytes(&all, rules.data, rules.size);
    text_add(&all, "\n]}\n");
    x->expressed = x->written = x->n;
    return file_write(path, all.data, all.size, e);
}

const ExportFormat export_json = {"json", "a JSON file with everything (rules/rules.schema.json)",
                                  json_write_file, false};
