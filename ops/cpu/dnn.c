/* dnn.c -- the parts that all uses of oneDNN share: the device, chains of primitives, and their
   operands.

   A kernel is a short chain of primitives over memories, each of which is a view, a piece of the
   scratch memory, or a constant. Known weights are packed at compile time. Epilogues of a bias and
   one activation are fused; all others run as an element-wise program over the output. oneDNN's
   threads are those of OpenMP: their number is set to 1 around every call and then restored. */
#include "ops/cpu/dnn.h"
#include "ops/base/intern.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int one_thread(const Dnn *d) {
    const int before = d->threads ? d->threads() : 1;
    if (d->set_threads && before != 1) d->set_threads(1);
    return before;
}
static void give_threads(const Dnn *d, int before) {
    if (d->set_threads && before != 1) d->set_threads(before);
}

/* On 64-bit ARM, oneDNN would write the names of its generated code to /tmp/perf-PID.map, and leave
   that file behind after every process. Its own variable asks for these names when profiling. */
static void write_no_names(void) {
    if (!getenv("ONEDNN_JIT_PROFILE") && !getenv("DNNL_JIT_PROFILE"))
        dnnl_set_jit_profiling_flags(DNNL_JIT_PROFILE_NONE);
}

const bool dnn_built = true;
Dnn *dnn_open(int threads, char *why, size_t n) {
    Dnn *d = mem_realloc(NULL, sizeof *d);
    if (!d) return snprintf(why, n, "out of memory"), NULL;
    *d = (Dnn){0};
    write_no_names();
    *(void **)&d->set_threads = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    *(void **)&d->threads = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
    const bool engine = dnnl_engine_create(&d->engine, dnnl_cpu, 0) == dnnl_success;
    while (engine && d->nstream < threads &&
           !dnnl_stream_create(&d->stream[d->nstream], d->engine, dnnl_stream_default_flags))
        d->nstream++;
    if (d->nstream == threads) return d;
    snprintf(why, n, "oneDNN has no engine for this CPU");
    dnn_close(d);
    return NULL;
}
void dnn_close(Dnn *d) {
    if (!d) return;
    for (int i = 0; i < d->nstream; i++) dnnl_stream_destroy(d->stream[i]);
    dnnl_engine_destroy(d->engine);
    mem_free(d);
}
void dnn_identity(const Dnn *d, char *text, size_t n) {
    const dnnl_version_t *v = dnnl_version();
    if (!d) snprintf(text, n, "without oneDNN");
    else
        snprintf(text, n, "oneDNN %d.%d.%d isa %x", v->major, v->minor, v->patch,
                 (unsigned)dnnl_get_effective_cpu_isa());
}

/* ---- chains */
static int chain_run(const Kernel *k, void *const slot[], void *work) {
    const Chain *c = k->self;
    const int threads = one_thread(c->dnn);
    int status = 0;
    for (int i = 0; i < c->nmemory; i++) {
        const Memory *m = &c->memory[i];
        if (m->copy) copy_run(m->copy, slot, work);
        if (m->constant) continue;
        void *now = NULL, *at = view_at(&m->view, slot, work);
        dnnl_memory_get_data_handle(m->memory, &now);
        if (now != at && dnnl_memory_set_data_handle(m->memory, at) != dnnl_success) status = -1;
    }
    for (int i = 0; i < c->nlink && status == 0; i++)
        if (dnnl_primitive_execute(c->link[i].primitive, c->stream, c->link[i].n, c->link[i].arg) !=
            dnnl_success)
            status = -1;
    if (dnnl_stream_wait(c->stream) != dnnl_success) status = -1;
    give_threads(c->dnn, threads);
    if (status == 0 && c->last) copy_run(c->last, slot, work);
    if (status == 0) tail_run(&c->tail, slot, work);
    return status;
}

/* Frees what only building needs. */
static void chain_built(Chain *c) {
    for (int i = 0; i < c->nlayout; i++) layout_free(c->layout[i]);
    if (c->pd) dnnl_primitive_desc_destroy(c->pd);
    give_threads(c->dnn, c->threads);
    c->nlayout = 0, c->threads = 1, c->pd = NULL;
}
static void chain_free(Chain *c) {
    for (int i = 0; i < c->nlink; i++) dnnl_primitive_destroy(c->link[i].primitive);
    for (int i = 0; i < c->nmemory; i++) dnnl_memory_destroy(c->memory[i].memory);
    chain_built(c);
    c->nlink = c->nmemory = 0;
}
static void chain_forget(Kernel *k) { chain_free(k->self); }

static dnnl_memory_t add_memory(Chain *c, Layout md, const View *view, Copy *copy) {
    Memory *m = &c->memory[c->nmemory];
    *m = (Memory){.view = *view, .copy = copy};
    if (dnnl_memory_create(&m->memory, md, c->dnn->engine, DNNL_MEMORY_NONE) != dnnl_success)
        return NULL;
    c->nmemory++;
    return m->memory;
}
static View scratch_bytes(Build *b, size_t bytes) {
    return (View){
        .slot = SLOT_SCRATCH, .dtype = DT_UINT8, .offset = (int64_t)build_bytes(b, bytes)};
}
static dnnl_memory_t add_scratch(Build *b, Chain *c, Layout md) {
    const View v = scratch_bytes(b, dnnl_memory_desc_get_size(md));
    return add_memory(c, md, &v, NULL);
}

static bool add_link(Chain *c, const_dnnl_primitive_desc_t pd) {
    Link *l = &c->link[c->nlink];
    if (dnnl_primitive_create(&l->primitive, pd) != dnnl_success) return false;
    c->nlink++;
    return true;
}
static void add_arg(Chain *c, int arg, dnnl_memory_t memory) {
    Link *l = &c->link[c->nlink - 1];
    l->arg[l->n++] = (dnnl_exec_arg_t){arg, memory};
}

/* Adds an argument to the last link: numbers that are not moved. */
static bool add_constant(Chain *c, const Constant *a) {
    const View nowhere = {.slot = SLOT_SCRATCH, .dtype = DT_UINT8};
    const dnnl_dims_t dim = {a->n}, stride = {1};
    const Layout md = layout_strided(NULL, 1, dim, stride, a->type);
    const dnnl_memory_t memory = md ? add_memory(c, md, &nowhere, NULL) : NULL;
    if (md) layout_free(md);
    if (!memory) return false;
    c->memory[c->nmemory - 1].constant = true;
    add_arg(c, a->argument, memory);
    return dnnl_memory_set_data_handle(memory, (void *)(uintptr_t)a->numbers) == dnnl_success;
}
static bool add_quantization(Chain *c) {
    Constant constant[QUANTIZATION_ARGUMENTS];
    const int n = c->q ? quantization_arguments(c->q, constant) : 0;
    bool ok = true;
    for (int i = 0; ok && i < n; i++) ok = add_constant(c, &constant[i]);
    return ok;
}

static bool add_reorder(Chain *c, dnnl_memory_t from, Layout from_md, dnnl_memory_t to,
                        Layout to_md) {
    dnnl_primitive_desc_t pd;
    if (!from || !to ||
        dnnl_reorder_primitive_desc_create(&pd, from_md, c->dnn->engine, to_md, c->dnn->engine,
                                           NULL) != dnnl_success)
        return false;
    const bool ok = add_link(c, pd);
    dnnl_primitive_desc_destroy(pd);
    if (ok) add_arg(c, DNNL_ARG_FROM, from), add_arg(c, DNNL_ARG_TO, to);
    return ok;
}

static bool reorder_now(Chain *c, Layout from_md, const void *from, Layout to_md,
                        dnnl_memory_t to) {
    Chain once = {.dnn = c->dnn, .stream = c->stream, .threads = 1};
    const View nowhere = {.slot = SLOT_SCRATCH, .dtype = DT_UINT8};
    dnnl_memory_t source = add_memory(&once, from_md, &nowhere, NULL);
    bool ok = source &&
              dnnl_memory_set_data_handle(source, (void *)(uintptr_t)from) == dnnl_success &&
              add_reorder(&once, source, from_md, to, to_md);
    ok = ok && dnnl_primitive_execute(once.link[0].primitive, c->stream, once.link[0].n,
                                      once.link[0].arg) == dnnl_success;
    ok = ok && dnnl_stream_wait(c->stream) == dnnl_success;
    chain_free(&once);
    return ok;
}

/* The key of packed contents: a digest of the two layouts and of the contents. */
static bool repacked_key(Layout from_md, const void *from, Layout to_md, char key[33]) {
    char of[3][33];
    memset(of, 0, sizeof of);
    if (!layout_digest(from_md, of[0]) || !layout_digest(to_md, of[1])) return false;
    hash_hex(from, layout_reach(from_md), of[2]);
    hash_hex(of, sizeof of, key);
    return true;
}

/* Reorders known contents at compile time, once for all kernels that need the same layout. */
static dnnl_memory_t pack_now(Build *b, Chain *c, Layout from_md, const void *from, Layout to_md) {
    const View nowhere = {.slot = SLOT_SCRATCH, .dtype = DT_UINT8};
    Share *share = build_share(b);
    char key[33];
    if (!repacked_key(from_md, from, to_md, key)) return NULL;
    dnnl_memory_t to = add_memory(c, to_md, &nowhere, NULL);
    if (!to) return NULL;
    c->memory[c->nmemory - 1].constant = true;
    const bool there = (share->bytes = shared_find(b->device, key)) != NULL;
    if (!there && !(share->bytes = shared_new(b->device, key, dnnl_memory_desc_get_size(to_md))))
        return build_no_memory(b), NULL;
    if (dnnl_memory_set_data_handle(to, share->bytes) == dnnl_success &&
        (there || reorder_now(c, from_md, from, to_md, to)))
        return to;
    shared_drop(b->device, share->bytes);
    share->bytes = NULL;
    return NULL;
}

/* ---- operands */
static Layout chain_keep(Chain *c, Layout md) {
    if (md) c->layout[c->nlayout++] = md;
    return md;
}
Layout chain_layout(Build *b, Chain *c, Layout like, dnnl_format_tag_t tag) {
    if (!like || c->nlayout == MAX_LAYOUTS) return NULL;
    return chain_keep(c, layout_tagged(b->scratch, like, tag));
}
static dnnl_data_type_t data_type(int dtype) {
    return dtype == DT_UINT8   ? dnnl_u8
           : dtype == DT_INT8  ? dnnl_s8
           : dtype == DT_INT32 ? dnnl_s32
                               : dnnl_f32;
}
Layout any_layout(Build *b, Chain *c, Layout like) {
    return chain_layout(b, c, like, dnnl_format_tag_any);
}
static Layout describe_view(Build *b, Chain *c, const View *v) {
    dnnl_dims_t dim, stride;
    for (int i = 0; i < v->rank; i++) {
        if (v->stride[i] < 1) return NULL;
        dim[i] = v->dim[i], stride[i] = v->stride[i];
    }
    if (c->nlayout == MAX_LAYOUTS) return NULL;
    return chain_keep(c, layout_strided(b->scratch, v->rank, dim, stride, data_type(v->dtype)));
}
/* Gives axes of length 1, which may have any stride in a View, the stride that they would have in a
   dense view. */
static View plain_view(const View *v) {
    View p = *v;
    int64_t next = 1;
    for (int i = p.rank - 1; i >= 0; i--) {
        if (p.dim[i] == 1) p.stride[i] = next;
        next = p.stride[i] * p.dim[i];
    }
    return p;
}
bool output_at(Build *b, Chain *c, const View *v, Input *in) {
    *in = (Input){.view = plain_view(v)};
    return (in->md = describe_view(b, c, &in->view)) != NULL;
}
bool known_input(Build *b, Chain *c, const View *dense, const void *known, Input *in) {
    *in = (Input){.view = plain_view(dense), .known = known};
    in->view.slot = SLOT_SCRATCH;
    return (in->md = describe_view(b, c, &in->view)) != NULL;
}
bool operand_input(Build *b, Chain *c, const Operand *o, Input *in) {
    *in = (Input){.view = plain_view(&o->view), .copy = o->copy, .known = o->constant};
    return (in->md = describe_view(b, c, &in->view)) != NULL;
}
bool typed_input_of(Build *b, Chain *c, int index, const View *as, int dtype, Input *in) {
    *in = (Input){.view = plain_view(as)};
    if (as->dtype == dtype && (in->md = describe_view(b, c, &in->view))) {
        if (b->weights && b->weights[index])
            in->known = (const char *)b->weights[index] + in->view.offset * dtype_size(dtype);
        return true;
    }
    Operand o;
    return operand_pack_as(b, index, as, dtype, &o) && operand_input(b, c, &o, in);
}
bool input_of(Build *b, Chain *c, int index, const View *as, Input *in) {
    return typed_input_of(b, c, index, as, DT_FLOAT, in);
}
bool packed_input_of(Build *b, Chain *c, int index, int dtype, Input *in) {
    const View *v = &b->step->view[index];
    Operand o;
    if (v->dtype == dtype && view_is_packed(v)) return typed_input_of(b, c, index, v, dtype, in);
    return operand_packed(b, index, v, dtype, &o) && operand_input(b, c, &o, in);
}

/* Whether `md` is the layout with channels last of a view of bytes; then *last is scratch memory in
   this layout. Bytes are moved there and back by a Copy, because oneDNN's reorders of bytes are not
   vectorized. */
static bool bytes_last(Build *b, Chain *c, Layout md, const View *v, View *last) {
    static const dnnl_format_tag_t tag[] = {[3] = dnnl_acb, [4] = dnnl_acdb, [5] = dnnl_acdeb};
    if (dtype_size(v->dtype) != 1 || v->rank < 3 || v->rank > 5) return false;
    const Layout tagged = chain_layout(b, c, md, tag[v->rank]);
    if (!tagged || !dnnl_memory_desc_equal(tagged, md)) return false;
    *last = view_dense(SLOT_SCRATCH, v->dtype, v->rank, v->dim);
    for (int a = 2; a < v->rank; a++) last->stride[a] *= v->dim[1];
    last->stride[1] = 1;
    last->offset = scratch_bytes(b, (size_t)view_count(v)).offset;
    return true;
}

/* Returns the memory that a primitive reads in layout `md`: the input itself, a copy packed now, or
   one that is reordered in each run. */
static dnnl_memory_t feed(Build *b, Chain *c, Input *in, Layout md) {
    const bool same = dnnl_memory_desc_equal(in->md, md);
    in->packed = in->known && (!same || in->view.slot == SLOT_SCRATCH);
    if (in->packed) return pack_now(b, c, in->md, in->known, md);
    View last;
    if (!same && !in->copy && bytes_last(b, c, md, &in->view, &last))
        return add_memory(c, md, &last, copy_new(b, &last, &in->view));
    dnnl_memory_t plain = add_memory(c, in->md, &in->view, in->copy);
    if (same || !plain) return plain;
    dnnl_memory_t packed = add_scratch(b, c, md);
    return add_reorder(c, plain, in->md, packed, md) ? packed : NULL;
}

/* ---- epilogues that oneDNN computes itself */
dnnl_primitive_attr_t make_attributes(const Fused *f) {
    static const dnnl_alg_kind_t kind[] = {
        [ACT_RELU] = dnnl_eltwise_relu,   [ACT_SIGMOID] = dnnl_eltwise_logistic,
        [ACT_TANH] = dnnl_eltwise_tanh,   [ACT_CLIP] = dnnl_eltwise_clip_v2,
        [ACT_SWISH] = dnnl_eltwise_swish, [ACT_HARDSWISH] = dnnl_eltwise_hardswish,
        [ACT_LINE] = dnnl_eltwise_linear,
    };
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t ops = NULL;
    if (dnnl_primitive_attr_create(&attr) != dnnl_success) return NULL;
    dnnl_status_t status = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (status == dnnl_success && f->whole && f->nact) {
        status = dnnl_post_ops_create(&ops);
        for (int i = 0; i < f->nact && status == dnnl_success; i++)
            status = append_activation(ops, kind[f->act[i].kind], f->act[i].alpha, f->act[i].beta);
        if (status == dnnl_success) status = dnnl_primitive_attr_set_post_ops(attr, ops);
        if (ops) dnnl_post_ops_destroy(ops);
    }
    if (status == dnnl_success) return attr;
    dnnl_primitive_attr_destroy(attr);
    return NULL;
}

static bool chain_link(Build *b, Chain *c, Input *x, Input *w, Input *bias, const Input *y) {
    if (!c->pd) return false;
    Layout x_md = dnnl_primitive_desc_query_md(c->pd, dnnl_query_src_md, 0),
           y_md = dnnl_primitive_desc_query_md(c->pd, dnnl_query_dst_md, 0);
    Layout scratch_md = dnnl_primitive_desc_query_md(c->pd, dnnl_query_scratchpad_md, 0);
    dnnl_memory_t from = feed(b, c, x, x_md), plain = add_memory(c, y->md, &y->view, NULL),
                  to = plain;
    dnnl_memory_t weights =
        w ? feed(b, c, w, dnnl_primitive_desc_query_md(c->pd, dnnl_query_weights_md, 0)) : NULL;
    dnnl_memory_t extra = bias ? feed(b, c, bias, bias->md) : NULL,
                  scratch = add_scratch(b, c, scratch_md);
    View last;
    const bool same = dnnl_memory_desc_equal(y->md, y_md);
    if (!same && bytes_last(b, c, y_md, &y->view, &last))
        to = add_memory(c, y_md, &last, NULL), c->last = copy_new(b, &y->view, &last);
    else if (!same) to = add_scratch(b, c, y_md);
    bool ok =
        from && plain && to && scratch && (!w || weights) && (!bias || extra) && add_link(c, c->pd);
    if (ok) {
        add_arg(c, DNNL_ARG_SRC, from), add_arg(c, DNNL_ARG_DST, to),
            add_arg(c, DNNL_ARG_SCRATCHPAD, scratch);
        if (w) add_arg(c, DNNL_ARG_WEIGHTS, weights);
        if (bias) add_arg(c, DNNL_ARG_BIAS, extra);
        ok = add_quantization(c) &&
             (to == plain || c->last || add_reorder(c, to, y_md, plain, y->md));
    }
    return ok;
}

Chain *chain_typed(Build *b, Kernel *k, bool fused, int dtype, TailShape shape, Input *y) {
    Chain *c = ARENA_NEW(b->arena, Chain, 1);
    c->dnn = b->device->dnn;
    c->stream = c->dnn->stream[b->part];
    c->threads = one_thread(c->dnn);
    k->self = c, k->run = chain_run, k->forget = chain_forget;
    b->repacked = true;
    if (!(fused ? tail_plain(b, dtype, shape, &c->tail) : tail_new(b, dtype, shape, &c->tail)))
        return NULL;
    if (output_at(b, c, &c->tail.into, y)) return c;
    return build_fail(b, "oneDNN cannot write to these strides"), NULL;
}
Chain *chain_new(Build *b, Kernel *k, bool fused, TailShape shape, Input *y) {
    return chain_typed(b, k, fused, DT_FLOAT, shape, y);
}
bool chain_finish(Build *b, Kernel *k, Input *x, Input *w, Input *bias, const Input *y) {
    enum { WEIGHTS = 1 << 2 };
    Chain *c = k->self;
    const bool ok = !is_reference(c->pd) && chain_link(b, c, x, w, bias, y);
    if (ok && w && w->packed) k->packed = WEIGHTS;
    return chain_end(b, k, ok);
}
bool chain_end(Build *b, Kernel *k, bool ok) {
    Chain *c = k->self;
    b->repacked = false;
    if (ok) return chain_built(c), true;
    chain_free(c);
    k->forget = NULL;
    return *b->failure != COMPILE_NO_MEMORY &&
           build_fail(b, "oneDNN does not support this algorithm for this shape");
}
