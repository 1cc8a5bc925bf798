/* signature.c -- interns signatures. When a signature is new, attributes are normalized, and
   shape() runs and states its needs; define() runs when a definition is first asked for.

   A cached definition is an index into the table of expressions, which backtracking may truncate
   while an older signature remains. So it is cached together with a stamp that its entry in the
   table has: if the entry is gone or has another stamp, the index was given to another expression
   since, and define() runs again. */
#include "ops/operator/signature.h"
#include "ops/operator/value.h"
#include <string.h>

typedef struct Cached {
    bool asked;
    Ex define;
    uint32_t stamp;
} Cached;
typedef struct SigEntry {
    SigInfo info;
    const Attr *attr;
    const Type **in;
    Type *out;
    Cached *define; /* the cached definition of each output */
} SigEntry;
typedef struct Ops {
    Column entries; /* a SigEntry * for each signature */
    Column stamps;  /* a uint32_t for each expression */
    uint32_t stamp;
} Ops;
typedef struct SigRecord { /* the record of a signature, followed by the types of its inputs */
    const Op *op;
    uint32_t attrs, nin, nout, none;
} SigRecord;

void world_init_ops(World *w) {
    Ops *ops = ARENA_NEW(w->arena, Ops, 1);
    column_init(w, &ops->entries, TABLE_SIG, sizeof(SigEntry *));
    column_init(w, &ops->stamps, TABLE_EX, sizeof(uint32_t));
    w->ops = ops;
}

static SigEntry *entry_of(World *w, Sig sig) {
    return *(SigEntry **)column_at(w, &((Ops *)w->ops)->entries, sig);
}

static Call call_of(World *w, const SigEntry *e, Needs *needs) {
    return (Call){.w = w,
                  .op = e->info.op,
                  .attr = e->attr,
                  .in = e->in,
                  .out = e->out,
                  .need = needs,
                  .nin = e->info.nin,
                  .nout = e->info.nout};
}
Call sig_call(World *w, Sig sig, Needs *needs) { return call_of(w, entry_of(w, sig), needs); }

/* Makes constant axes count from the front, and sorts them in ascending order. */
static void normalize_axes(World *w, PolyList *list, int rank, Poly out[RANK_MAX]) {
    int n = list->n;
    if (n > RANK_MAX) return;
    for (int k = 0; k < n; k++) {
        int64_t a;
        if (!poly_constant(w, list->v[k], &a)) return;
        Poly p = poly_int(w, a < 0 ? a + rank : a);
        int at = k;
        for (int64_t b; at > 0 && poly_constant(w, out[at - 1], &b) && b > (a < 0 ? a + rank : a);
             at--)
            out[at] = out[at - 1];
        out[at] = p;
    }
    list->v = out;
}
enum { INPUTS_ON_STACK = 24 };
static AttrsId normal_attrs(World *w, const Op *op, const Attr *attr, int rank) {
    Attr copy[ATTRS_MAX];
    Poly room[ATTRS_MAX][RANK_MAX];
    int n = attrs_count(op->attrs);
    for (int k = 0; k < n; k++) {
        copy[k] = attr[k];
        if (op->attrs[k].axes) normalize_axes(w, &copy[k].ints, rank, room[k]);
    }
    return attrs_intern(w, op->attrs, copy);
}

static const char *inputs_fit(World *w, const Op *op, int nin, const TypeId in[]) {
    bool variadic;
    int needed = op_arity(op, &variadic), most = op_input_count(op);
    if (nin < needed && !(op->flags & OP_ANY_TYPE)) return "too few inputs";
    if (nin > most && !variadic) return "too many inputs";
    if (op->flags & OP_ANY_TYPE) return NULL;
    for (int k = 0; k < nin; k++) {
        if (!in[k] && (variadic || op_input_needed(op, k))) return "an input is missing";
        if (in[k] && !type_get(w, in[k])->known) return "the rank of an input is not known";
    }
    return NULL;
}
static const char *needs_fit(World *w, const Needs *needs) {
    for (int k = 0; k < needs->n; k++) {
        int64_t value;
        if (poly_constant(w, needs->v[k].p, &value)) return "the sizes do not match";
    }
    return NULL;
}

/* Runs shape() and stores the output types and needs. */
static void run_shape(World *w, SigEntry *e) {
    Lit room[64];
    Needs needs = {.room = 64, .v = room};
    Call c = call_of(w, e, &needs);
    Overflow overflow = overflow_begin(w);
    if (!e->info.why) e->info.why = e->info.op->shape(&c);
    if (!e->info.why) e->info.why = needs_fit(w, &needs);
    if (overflow_end(w, overflow)) e->info.why = "sizes overflow";
    if (e->info.why) return;
    TypeId *out = ARENA_NEW(w->arena, TypeId, e->info.nout);
    for (int j = 0; j < e->info.nout; j++) {
        e->out[j].known |= !(e->info.op->flags & OP_ANY_TYPE);
        out[j] = type_intern(w, &e->out[j]);
    }
    e->info.out = out;
    e->info.nneed = needs.n;
    e->info.need = arena_copy(w->arena, needs.v, sizeof(Lit) * (size_t)needs.n);
}

static SigEntry *entry_new(World *w, const Op *op, AttrsId attrs, int nin, const TypeId in[],
                           int nout, const char *why) {
    SigEntry *e = ARENA_NEW(w->arena, SigEntry, 1);
    Attr *attr = ARENA_NEW(w->arena, Attr, attrs_count(op->attrs));
    int padded = op_input_count(op) > nin ? op_input_count(op) : nin;
    attrs_get(w, op->attrs, attrs, attr);
    e->info = (SigInfo){
        .op = op, .op_index = op_index(op), .attrs = attrs, .nin = nin, .nout = nout, .why = why};
    e->info.in = arena_copy(w->arena, in, sizeof *in * (size_t)nin);
    e->attr = attr;
    e->in = ARENA_NEW(w->arena, const Type *, padded);
    for (int k = 0; k < nin; k++) e->in[k] = in[k] ? type_get(w, in[k]) : NULL;
    e->out = ARENA_NEW(w->arena, Type, nout);
    e->define = ARENA_NEW(w->arena, Cached, nout);
    run_shape(w, e);
    return e;
}

Sig sig_intern(World *w, const Op *op, const Attr *attr, int nin, const TypeId in[], int nout) {
    bool variadic;
    int outputs = op_output_count(op, &variadic);
    if (!variadic) nout = outputs;
    while (nin > 0 && !in[nin - 1]) nin--; /* drops omitted inputs at the end */
    AttrsId attrs = normal_attrs(w, op, attr, nin && in[0] ? type_get(w, in[0])->dim.n : 0);
    size_t bytes = sizeof(SigRecord) + sizeof(TypeId) * (size_t)nin;
    uint32_t stack[sizeof(SigRecord) / 4 + INPUTS_ON_STACK];
    uint32_t *record = nin <= INPUTS_ON_STACK ? stack : arena_alloc(w->arena, bytes);
    memcpy(record, &(SigRecord){op, attrs, (uint32_t)nin, (uint32_t)nout, 0}, sizeof(SigRecord));
    if (nin) memcpy(record + sizeof(SigRecord) / 4, in, sizeof(TypeId) * (size_t)nin);
    Sig sig = intern_put(w->table[TABLE_SIG], record, bytes);
    if (!entry_of(w, sig)) {
        SigEntry *e = entry_new(w, op, attrs, nin, in, nout, inputs_fit(w, op, nin, in));
        *(SigEntry **)column_at(w, &((Ops *)w->ops)->entries, sig) = e;
    }
    return sig;
}
const SigInfo *sig_info(World *w, Sig sig) { return &entry_of(w, sig)->info; }
void sig_attr(const World *w, Sig sig, Attr *out) {
    const SigRecord *r = intern_get(w->table[TABLE_SIG], sig, NULL);
    attrs_get(w, r->op->attrs, r->attrs, out);
}

/* The stamp of an expression, which it keeps as long as it is in the table. */
static uint32_t *stamp_of(World *w, Ex e) { return column_at(w, &((Ops *)w->ops)->stamps, e); }

static Ex run_define(World *w, SigEntry *e, int port) {
    Call c = call_of(w, e, NULL);
    Dims i = {.n = e->out[port].dim.n};
    Overflow overflow = overflow_begin(w);
    c.port = port;
    for (int a = 0; a < i.n; a++) i.v[a] = poly_symbol(w, symbol_index(w, (uint32_t)a));
    Ex define = e->info.op->define(&c, i);
    return overflow_end(w, overflow) ? 0 : define;
}
Ex sig_define(World *w, Sig sig, int port) {
    SigEntry *e = entry_of(w, sig);
    if (e->info.why || !e->info.op->define) return 0;
    Cached *cached = &e->define[port];
    if (cached->asked && (!cached->define || (cached->define <= intern_count(w->table[TABLE_EX]) &&
                                              *stamp_of(w, cached->define) == cached->stamp)))
        return cached->define;
    *cached = (Cached){.asked = true, .define = run_define(w, e, port)};
    if (cached->define) {
        uint32_t *stamp = stamp_of(w, cached->define);
        if (!*stamp) *stamp = ++((Ops *)w->ops)->stamp;
        cached->stamp = *stamp;
    }
    return cached->define;
}

Ex sig_define_numbers(World *w, Sig sig, int port) {
    return entry_of(w, sig)->info.op->flags & OP_DECIDES ? 0 : sig_define(w, sig, port);
}

int sig_params(World *w, Sig sig, int64_t param[OP_PARAMS]) {
    SigEntry *e = entry_of(w, sig);
    Call c = call_of(w, e, NULL);
    param[0] = e->info.nout;
    const int own = !e->info.why && e->info.op->params ? e->info.op->params(&c, param) : 0;
    return own < 0 ? -1 : 1 + own;
}

bool sig_domain(World *w, Sig sig, int input, Poly *low, Poly *high) {
    SigEntry *e = entry_of(w, sig);
    Call c = call_of(w, e, NULL);
    return !e->info.why && e->info.op->domain && e->info.op->domain(&c, input, low, high);
}

bool sig_value(World *w, Sig sig, const PolyList in[], Poly *out) {
    SigEntry *e = entry_of(w, sig);
    Call c = call_of(w, e, NULL);
    if (e->info.why) return false;
    bool good;
    Overflow overflow = overflow_begin(w);
    Ex define = e->info.op->value ? 0 : sig_define(w, sig, 0);
    if (define) good = value_walk(w, define, &e->out[0], e->info.nin, e->in, in, out);
    else good = e->info.op->value && e->info.op->value(&c, in, out);
    return !overflow_end(w, overflow) && good;
}
