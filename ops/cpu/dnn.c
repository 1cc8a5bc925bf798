/* dnn.c -- convolution, pooling and matrix products by oneDNN 2.6 (C API); every call of it is in
   this file. Choices: 0 plain, the views as they lie; 1 any layout, with reorders around; 2
   (convolution) Winograd, likewise. Weights known at compile time are packed then. A kernel is a
   short chain of primitives over memories, each of which is a view, a piece of the scratch or a
   constant. Epilogues of bias and one activation are fused; all others run as an element-wise pass
   over the output. oneDNN's threads are OpenMP's: their number is set to 1 around every call, and
   restored. */
#include "ops/base/intern.h"
#include "ops/cpu/cpu.h"
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LINKS = 5, MAX_MEMORIES = 8, WEIGHTS = 1 << 2 };
struct Dnn {
    dnnl_engine_t engine;
    int nstream;
    dnnl_stream_t stream[TEAM_MOST]; /* for each part of a step */
    void (*set_threads)(int);
    int (*threads)(void);
};

typedef struct Memory {
    dnnl_memory_t memory;
    View view;     /* where it lies (slot, offset; slot -1: scratch) */
    Copy *copy;    /* fills it first; may be NULL */
    bool constant; /* its handle was set for good */
} Memory;
typedef struct Link {
    dnnl_primitive_t primitive;
    int n;
    dnnl_exec_arg_t arg[6];
} Link;
typedef struct Chain {
    Dnn *dnn;
    dnnl_stream_t stream;
    int nlink, nmemory, threads; /* to be restored however building ends; 1: nothing to do */
    dnnl_primitive_desc_t pd;    /* while building */
    Link link[MAX_LINKS];
    Memory memory[MAX_MEMORIES];
    Tail tail;
} Chain;

static int one_thread(const Dnn *d) {
    const int before = d->threads ? d->threads() : 1;
    if (d->set_threads && before != 1) d->set_threads(1);
    return before;
}
static void give_threads(const Dnn *d, int before) {
    if (d->set_threads && before != 1) d->set_threads(before);
}

Dnn *dnn_open(int threads, char *why, size_t n) {
    Dnn *d = mem_realloc(NULL, sizeof *d);
    if (!d) return snprintf(why, n, "out of memory"), NULL;
    *d = (Dnn){0};
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
    mem_realloc(d, 0);
}
void dnn_identity(const Dnn *d, char *text, size_t n) {
    const dnnl_version_t *v = dnnl_version();
    if (!d) snprintf(text, n, "no oneDNN");
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
    if (status == 0) tail_run(&c->tail, slot, work);
    return status;
}

static void chain_free(Chain *c) {
    for (int i = 0; i < c->nlink; i++) dnnl_primitive_destroy(c->link[i].primitive);
    for (int i = 0; i < c->nmemory; i++) dnnl_memory_destroy(c->memory[i].memory);
    if (c->pd) dnnl_primitive_desc_destroy(c->pd);
    give_threads(c->dnn, c->threads);
    c->nlink = c->nmemory = 0, c->threads = 1, c->pd = NULL;
}
static void chain_forget(Kernel *k) { chain_free(k->self); }

static dnnl_memory_t add_memory(Chain *c, const dnnl_memory_desc_t *md, const View *view,
                                Copy *copy) {
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
static dnnl_memory_t add_scratch(Build *b, Chain *c, const dnnl_memory_desc_t *md) {
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

static bool add_reorder(Chain *c, dnnl_memory_t from, const dnnl_memory_desc_t *from_md,
                        dnnl_memory_t to, const dnnl_memory_desc_t *to_md) {
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

static bool reorder_now(Chain *c, const dnnl_memory_desc_t *from_md, const void *from,
                        const dnnl_memory_desc_t *to_md, dnnl_memory_t to) {
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

/* Bytes from the first to the last element of a strided layout. */
static size_t md_reach(const dnnl_memory_desc_t *md) {
    int64_t last = 0;
    for (int i = 0; i < md->ndims; i++)
        last += (md->dims[i] - 1) * md->format_desc.blocking.strides[i];
    return (size_t)(last + 1) * sizeof(float);
}

/* What is packed is known by its two layouts and its contents. */
static void packed_key(const dnnl_memory_desc_t *from_md, const void *from,
                       const dnnl_memory_desc_t *to_md, char key[33]) {
    struct {
        dnnl_memory_desc_t from, to;
        char bytes[33];
    } of;
    memset(&of, 0, sizeof of);
    of.from = *from_md, of.to = *to_md;
    hash_hex(from, md_reach(from_md), of.bytes);
    hash_hex(&of, sizeof of, key);
}

/* A reorder done now, once for all kernels that want the same. */
static dnnl_memory_t pack_now(Build *b, Chain *c, const dnnl_memory_desc_t *from_md,
                              const void *from, const dnnl_memory_desc_t *to_md) {
    const View nowhere = {.slot = SLOT_SCRATCH, .dtype = DT_UINT8};
    Share *share = build_share(b);
    char key[33];
    packed_key(from_md, from, to_md, key);
    dnnl_memory_t to = add_memory(c, to_md, &nowhere, NULL);
    if (!to) return NULL;
    c->memory[c->nmemory - 1].constant = true;
    const bool there = (share->bytes = shared_find(b->device, key)) != NULL;
    if (!there && !(share->bytes = shared_new(b->device, key, dnnl_memory_desc_get_size(to_md))))
        return NULL;
    if (dnnl_memory_set_data_handle(to, share->bytes) == dnnl_success &&
        (there || reorder_now(c, from_md, from, to_md, to)))
        return to;
    shared_drop(b->device, share->bytes);
    share->bytes = NULL;
    return NULL;
}

/* ---- operands */
static bool describe(const View *v, dnnl_memory_desc_t *md) {
    dnnl_dims_t dim, stride;
    for (int i = 0; i < v->rank; i++) {
        if (v->stride[i] < 1) return false;
        dim[i] = v->dim[i], stride[i] = v->stride[i];
    }
    return dnnl_memory_desc_init_by_strides(md, v->rank, dim, dnnl_f32, stride) == dnnl_success;
}
static dnnl_memory_desc_t any_layout(const dnnl_memory_desc_t *md) {
    dnnl_memory_desc_t any = *md;
    dnnl_memory_desc_init_by_tag(&any, md->ndims, md->dims, dnnl_f32, dnnl_format_tag_any);
    return any;
}
/* Axes of length 1 may carry any stride in a View: here they get the one a dense view would
   have. */
static View plain_view(const View *v) {
    View p = *v;
    int64_t next = 1;
    for (int i = p.rank - 1; i >= 0; i--) {
        if (p.dim[i] == 1) p.stride[i] = next;
        next = p.stride[i] * p.dim[i];
    }
    return p;
}
typedef struct Input {
    View view;
    Copy *copy;
    const void *known; /* contents, where the step's view lies as it is and they are known */
    bool packed;       /* they were packed */
    dnnl_memory_desc_t md;
} Input;
/* Described as it lies, or packed where oneDNN cannot read such strides or the type is a 16-bit
   float. */
static bool input_of(Build *b, int index, const View *as, Input *in) {
    *in = (Input){.view = plain_view(as)};
    if (as->dtype == DT_FLOAT && describe(&in->view, &in->md)) {
        if (b->weights && b->weights[index])
            in->known = (const float *)b->weights[index] + in->view.offset;
        return true;
    }
    Operand o;
    if (!operand_pack_as(b, index, as, DT_FLOAT, &o)) return false;
    in->view = o.view, in->copy = o.copy, in->known = o.constant;
    return describe(&in->view, &in->md);
}

/* The same, packed if it is not: oneDNN's fast ways refuse images with gaps. */
static bool packed_input_of(Build *b, int index, Input *in) {
    const View *v = &b->step->view[index];
    Operand o;
    if (v->dtype == DT_FLOAT && view_is_packed(v)) return input_of(b, index, v, in);
    if (!operand_packed(b, index, v, DT_FLOAT, &o)) return false;
    *in = (Input){.view = plain_view(&o.view), .copy = o.copy, .known = o.constant};
    return describe(&in->view, &in->md);
}

/* The memory a primitive reads in layout `md`: the input itself, one packed now, or one reordered
   at each run. */
static dnnl_memory_t feed(Build *b, Chain *c, Input *in, const dnnl_memory_desc_t *md) {
    const bool same = dnnl_memory_desc_equal(&in->md, md);
    in->packed = in->known && (!same || in->view.slot == SLOT_SCRATCH);
    if (in->packed) return pack_now(b, c, &in->md, in->known, md);
    dnnl_memory_t plain = add_memory(c, &in->md, &in->view, in->copy);
    if (same || !plain) return plain;
    dnnl_memory_t packed = add_scratch(b, c, md);
    return add_reorder(c, plain, &in->md, packed, md) ? packed : NULL;
}

/* ---- epilogues that oneDNN computes itself */
static dnnl_primitive_attr_t make_attributes(const Fused *f) {
    static const dnnl_alg_kind_t kind[] = {
        [ACT_RELU] = dnnl_eltwise_relu,   [ACT_SIGMOID] = dnnl_eltwise_logistic,
        [ACT_TANH] = dnnl_eltwise_tanh,   [ACT_CLIP] = dnnl_eltwise_clip_v2,
        [ACT_SWISH] = dnnl_eltwise_swish, [ACT_HARDSWISH] = dnnl_eltwise_hardswish,
        [ACT_LINE] = dnnl_eltwise_linear,
    };
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t ops = NULL;
    if (dnnl_primitive_attr_create(&attr) != dnnl_success) return NULL;
    dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (f->whole && f->nact && dnnl_post_ops_create(&ops) == dnnl_success) {
        for (int i = 0; i < f->nact; i++)
            dnnl_post_ops_append_eltwise(ops, 1.0f, kind[f->act[i].kind], f->act[i].alpha,
                                         f->act[i].beta);
        dnnl_primitive_attr_set_post_ops(attr, ops);
        dnnl_post_ops_destroy(ops);
    }
    return attr;
}

/* Links the primitive c->pd with its inputs, weights and one output. w and bias may be NULL. */
static bool link_operation(Build *b, Chain *c, Input *x, Input *w, Input *bias, const Input *y) {
    if (!c->pd) return false;
    const dnnl_memory_desc_t *x_md = dnnl_primitive_desc_query_md(c->pd, dnnl_query_src_md, 0),
                             *y_md = dnnl_primitive_desc_query_md(c->pd, dnnl_query_dst_md, 0);
    const dnnl_memory_desc_t *scratch_md =
        dnnl_primitive_desc_query_md(c->pd, dnnl_query_scratchpad_md, 0);
    dnnl_memory_t from = feed(b, c, x, x_md), plain = add_memory(c, &y->md, &y->view, NULL),
                  to = plain;
    dnnl_memory_t weights =
        w ? feed(b, c, w, dnnl_primitive_desc_query_md(c->pd, dnnl_query_weights_md, 0)) : NULL;
    dnnl_memory_t extra = bias ? feed(b, c, bias, &bias->md) : NULL,
                  scratch = add_scratch(b, c, scratch_md);
    if (!dnnl_memory_desc_equal(&y->md, y_md)) to = add_scratch(b, c, y_md);
    bool ok =
        from && plain && to && scratch && (!w || weights) && (!bias || extra) && add_link(c, c->pd);
    if (ok) {
        add_arg(c, DNNL_ARG_SRC, from), add_arg(c, DNNL_ARG_DST, to),
            add_arg(c, DNNL_ARG_SCRATCHPAD, scratch);
        if (w) add_arg(c, DNNL_ARG_WEIGHTS, weights);
        if (bias) add_arg(c, DNNL_ARG_BIAS, extra);
        ok = to == plain || add_reorder(c, to, y_md, plain, &y->md);
    }
    return ok;
}

/* Starts a chain: the tail with or without the epilogue (by way of memory of that shape), and the
   output's description. */
static Chain *chain_new(Build *b, Kernel *k, bool fused, TailShape shape, Input *y) {
    Chain *c = ARENA_NEW(b->arena, Chain, 1);
    c->dnn = b->device->dnn;
    c->stream = c->dnn->stream[b->part];
    c->threads = one_thread(c->dnn);
    k->self = c, k->run = chain_run, k->forget = chain_forget;
    b->passing = true;
    if (!(fused ? tail_plain(b, DT_FLOAT, shape, &c->tail)
                : tail_new(b, DT_FLOAT, shape, &c->tail)))
        return NULL;
    y->view = plain_view(&c->tail.into);
    if (describe(&y->view, &y->md)) return c;
    return build_fail(b, "oneDNN cannot write such strides"), NULL;
}
static bool chain_end(Build *b, Kernel *k, bool ok) {
    Chain *c = k->self;
    b->passing = false;
    if (ok) {
        dnnl_primitive_desc_destroy(c->pd);
        give_threads(c->dnn, c->threads);
        c->pd = NULL, c->threads = 1;
        return true;
    }
    chain_free(c);
    k->forget = NULL;
    return build_fail(b, "oneDNN does not support this way for this shape");
}
static dnnl_primitive_desc_t create(const void *desc, const Dnn *d, const Fused *f) {
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_attr_t attr = make_attributes(f);
    if (!attr) return NULL;
    if (dnnl_primitive_desc_create(&pd, desc, attr, d->engine, NULL) != dnnl_success) pd = NULL;
    dnnl_primitive_attr_destroy(attr);
    return pd;
}
/* What oneDNN is used for: 16-bit floats are converted around it. */
static bool all_float(const Step *s, int n) {
    for (int i = 0; i < n; i++)
        if (view_count(&s->view[i]) == 0) return false;
    return view_class(s->view, n) == CLASS_FLOAT;
}
/* A bias is a vector along one axis of y. */
static bool bias_input(Build *b, const Fused *f, int axis, int rank, Input *in) {
    const View *v = &b->step->view[f->bias];
    View line = {.slot = v->slot, .dtype = DT_FLOAT, .rank = rank, .offset = v->offset};
    for (int i = 0; i < rank; i++) line.dim[i] = 1;
    line.dim[rank - 1] = v->dim[axis], line.stride[rank - 1] = 1;
    return input_of(b, f->bias, &line, in);
}

/* ---- convolution */
/* The pads at the ends that make oneDNN's formula give exactly the output's size. */
static void exact_pads(int n, const View *y, const View *x, const int64_t *kernel,
                       const int64_t *param, dnnl_dims_t stride, dnnl_dims_t dilation,
                       dnnl_dims_t begin, dnnl_dims_t end) {
    for (int i = 0; i < n; i++) {
        stride[i] = param[i], begin[i] = param[n + i], dilation[i] = param[3 * n + i] - 1;
        end[i] = (y->dim[2 + i] - 1) * stride[i] + (kernel[i] - 1) * (dilation[i] + 1) + 1 -
                 x->dim[2 + i] - begin[i];
    }
}
/* o, c/g, k.. becomes g, o/g, c/g, k.. */
static View grouped(const View *w, int64_t group) {
    View g = *w;
    if (group == 1) return g;
    g.rank++;
    for (int i = w->rank; i > 1; i--) g.dim[i] = w->dim[i - 1], g.stride[i] = w->stride[i - 1];
    g.dim[0] = group, g.stride[0] = w->stride[0] * (w->dim[0] / group);
    g.dim[1] = w->dim[0] / group, g.stride[1] = w->stride[0];
    return g;
}
static bool winograd_like(const Step *s) {
    const int64_t *p = s->param;
    return s->view[1].rank == 4 && p[0] == 1 && s->view[2].dim[2] == 3 && s->view[2].dim[3] == 3 &&
           p[1] == 1 && p[2] == 1 && p[7] == 1 && p[8] == 1;
}
bool dnn_conv_possible(const Device *d, const Step *s, DnnWay way) {
    return d->dnn && all_float(s, 3) &&
           (way != DNN_WINOGRAD || (winograd_like(s) && d->simd == &simd_avx512));
}
/* oneDNN's implementations by matrix product apply all activations but relu an element at a
   time. */
static bool slow_activation(const_dnnl_primitive_desc_t pd, const Fused *f) {
    const char *name = NULL;
    if (!pd || !f->nact || (f->nact == 1 && f->act[0].kind == ACT_RELU)) return false;
    return dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) == dnnl_success &&
           name && strstr(name, "gemm");
}
static bool is_reference(const_dnnl_primitive_desc_t pd) {
    const char *name = NULL;
    return pd &&
           dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) == dnnl_success &&
           name && strncmp(name, "ref", 3) == 0;
}
static bool known_input(const View *dense, const float *known, Input *in) {
    *in = (Input){.view = plain_view(dense), .known = known};
    in->view.slot = SLOT_SCRATCH;
    return describe(&in->view, &in->md);
}
/* Weights and bias of the step, or those that take in the affine part of the epilogue. */
static bool conv_operands(Build *b, const Fused *f, const Affine *affine, Input *w, Input *bias) {
    const Step *s = b->step;
    View weights = s->view[2];
    Operand o = {.constant = NULL};
    if (affine && affine->scale) {
        if (!operand_pack(b, 2, DT_FLOAT, &o) || !o.constant) return false;
        float *scaled = (float *)(uintptr_t)o.constant; /* our own copy, in the scratch */
        const int64_t count = view_count(&weights), each = count / weights.dim[0];
        for (int64_t i = 0; i < count; i++) scaled[i] *= affine->scale[i / each];
        weights = o.view;
    }
    weights = grouped(&weights, s->param[0]);
    if (!(o.constant ? known_input(&weights, o.constant, w) : input_of(b, 2, &weights, w)))
        return false;
    const View line = view_dense(SLOT_SCRATCH, DT_FLOAT, 1, &s->view[0].dim[1]);
    if (affine) return known_input(&line, affine->shift, bias);
    return !f->whole || !f->bias || bias_input(b, f, 1, 1, bias);
}
static bool conv_build(Build *b, DnnWay way, Kernel *k, const Fused *f, const Affine *affine,
                       bool *slow) {
    const Step *s = b->step;
    const View *v = s->view;
    const int n = v[1].rank - 2;
    const bool has_bias = affine || (f->whole && f->bias);
    Input x, w, bias, y;
    Chain *c = chain_new(b, k, f->whole, way == DNN_PLAIN ? TAIL_PACKED : TAIL_ANY, &y);
    if (!c || !(way ? input_of(b, 1, &v[1], &x) : packed_input_of(b, 1, &x)) ||
        !conv_operands(b, f, affine, &w, &bias))
        return chain_end(b, k, false);
    dnnl_dims_t stride, dilation, begin, end;
    exact_pads(n, &v[0], &v[1], v[2].dim + 2, s->param + 1, stride, dilation, begin, end);
    const dnnl_memory_desc_t x_md = way ? any_layout(&x.md) : x.md,
                             y_md = way ? any_layout(&y.md) : y.md,
                             w_md = way || w.known ? any_layout(&w.md) : w.md;
    dnnl_convolution_desc_t desc;
    if (dnnl_dilated_convolution_forward_desc_init(
            &desc, dnnl_forward_inference,
            way == DNN_WINOGRAD ? dnnl_convolution_winograd : dnnl_convolution_direct, &x_md, &w_md,
            has_bias ? &bias.md : NULL, &y_md, stride, dilation, begin, end) == dnnl_success)
        c->pd = create(&desc, c->dnn, f);
    *slow = slow_activation(c->pd, f);
    const bool ok =
        !*slow && !is_reference(c->pd) && link_operation(b, c, &x, &w, has_bias ? &bias : NULL, &y);
    if (ok && w.packed) k->packed = WEIGHTS;
    return chain_end(b, k, ok);
}
/* The affine part goes into weights that are known; then what is left is fused, or runs
   afterwards. */
bool dnn_conv_build(Build *b, DnnWay way, Kernel *k) {
    const size_t before = b->workspace;
    const Step *whole = b->step;
    Step rest = *whole;
    Affine split;
    const bool known = b->weights && b->weights[2], affine = known && affine_split(b, 1, &split);
    if (affine) rest.code = split.code, rest.ncode = split.ncode;
    b->step = &rest;
    const Fused none = {0}, fused = fused_match(b, &rest, 1);
    const bool two = affine && fused.whole && fused.bias; /* a second bias, which is not known */
    bool slow = two, done = !two && conv_build(b, way, k, &fused, affine ? &split : NULL, &slow);
    if (!done && slow) {
        b->workspace = before;
        done = conv_build(b, way, k, &none, affine ? &split : NULL, &slow);
    }
    b->step = whole;
    return done;
}

/* ---- pooling */
/* Where the last windows reach over the padding, its cells are no longer countable by oneDNN's
   rule. */
static bool pads_countable(const Step *s) {
    const int n = s->view[1].rank - 2;
    const int64_t *p = s->param + 1;
    if (s->param[0] == POOL_MAX || !s->param[1 + 5 * n]) return true;
    for (int i = 0; i < n; i++)
        if ((s->view[0].dim[2 + i] - 1) * p[n + i] + (p[i] - 1) * p[4 * n + i] + 1 >
            s->view[1].dim[2 + i] + p[2 * n + i] + p[3 * n + i])
            return false;
    return true;
}
int dnn_pool_choices(const Device *d, const Step *s) {
    return d->dnn && all_float(s, 2) && pads_countable(s) ? 2 : 0;
}
bool dnn_pool_build(Build *b, int choice, Kernel *k) {
    const Step *s = b->step;
    const View *v = s->view;
    const Fused none = {0};
    const int n = v[1].rank - 2;
    Input x, y;
    Chain *c = chain_new(b, k, false, choice ? TAIL_ANY : TAIL_PACKED, &y);
    if (!c || !(choice ? input_of(b, 1, &v[1], &x) : packed_input_of(b, 1, &x)))
        return chain_end(b, k, false);
    dnnl_dims_t stride, dilation, begin, end, kernel;
    exact_pads(n, &v[0], &v[1], s->param + 1, s->param + 1 + n, stride, dilation, begin, end);
    for (int i = 0; i < n; i++) kernel[i] = s->param[1 + i];
    const dnnl_alg_kind_t kind = s->param[0] == POOL_MAX ? dnnl_pooling_max
                                 : s->param[1 + 5 * n]   ? dnnl_pooling_avg_include_padding
                                                         : dnnl_pooling_avg_exclude_padding;
    dnnl_memory_desc_t x_md = x.md, y_md = choice ? any_layout(&y.md) : y.md;
    if (choice && dnnl_memory_desc_init_by_tag(&x_md, x.md.ndims, x.md.dims, dnnl_f32,
                                               n == 1   ? dnnl_nCw16c
                                               : n == 2 ? dnnl_nChw16c
                                                        : dnnl_nCdhw16c) != dnnl_success)
        return chain_end(b, k, false);
    dnnl_pooling_v2_desc_t desc;
    if (dnnl_pooling_v2_forward_desc_init(&desc, dnnl_forward_inference, kind, &x_md, &y_md, stride,
                                          kernel, dilation, begin, end) == dnnl_success)
        c->pd = create(&desc, c->dnn, &none);
    return chain_end(b, k, !is_reference(c->pd) && link_operation(b, c, &x, NULL, NULL, &y));
}

/* ---- matrix products */
int dnn_gemm_choices(const Device *d, const Step *s) {
    View flat[3];
    return d->dnn && all_float(s, 3) && gemm_flatten(s, flat);
}
bool dnn_gemm_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const Step *s = b->step;
    View flat[3], into[3];
    const Fused f = fused_match(b, s, s->view[0].rank - 1);
    const bool has_bias = f.whole && f.bias;
    Input x, w, bias, y;
    /* Its way for packed weights writes dense matrices only. */
    const bool packs = b->weights && b->weights[2];
    Chain *c = chain_new(b, k, f.whole, packs ? TAIL_DENSE : TAIL_ANY, &y);
    if (!c || !gemm_flatten(s, flat)) return chain_end(b, k, false);
    View views[3] = {c->tail.into, s->view[1], s->view[2]};
    Step there = *s;
    there.view = views;
    if (!gemm_flatten(&there, into)) return chain_end(b, k, false);
    y.view = plain_view(&into[0]);
    if (!describe(&y.view, &y.md) || !input_of(b, 1, &flat[1], &x) ||
        !input_of(b, 2, &flat[2], &w) ||
        (has_bias && !bias_input(b, &f, s->view[0].rank - 1, flat[0].rank, &bias)))
        return chain_end(b, k, false);
    Input *added = has_bias ? &bias : NULL;
    const dnnl_memory_desc_t w_md = w.known ? any_layout(&w.md) : w.md;
    dnnl_matmul_desc_t desc;
    if (!dnnl_matmul_desc_init(&desc, &x.md, &w_md, added ? &added->md : NULL, &y.md))
        c->pd = create(&desc, c->dnn, &f);
    const bool ok = !is_reference(c->pd) && link_operation(b, c, &x, &w, added, &y);
    if (ok && w.packed) k->packed = WEIGHTS;
    return chain_end(b, k, ok);
}
