/* convtranspose: the transpose of conv as a linear map: each product x[n, c, j..] * w[c, o, k..] is
   added to y[n, g*O + o, s*j + d*k - p ..], where g is the group of channel c, and b, if given, is
   added to each channel. x is [N, C, ..], w [C, O, ..]; a spatial axis of y has the size s*(h - 1)
   + d*(k - 1) + 1 + extra - pads. */
#include "ops/operator/op.h"
enum { GROUP, STRIDES, PADS, DILATIONS, EXTRA };
static const AttrDef attrs[] = {
    [GROUP] = {"group", A_INT, "1", .draw = "1 2"},
    [STRIDES] = {"strides", A_INTS, "1", .fill = PER_SPATIAL, .draw = "1 2 3"},
    [PADS] = {"pads", A_INTS, "0", .fill = PER_SIDE, .draw = "0 1"},
    [DILATIONS] = {"dilations", A_INTS, "1", .fill = PER_SPATIAL, .draw = "1 2"},
    [EXTRA] = {"extra", A_INTS, "0", .fill = PER_SPATIAL, .draw = "0 1"},
    {0},
};

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim, w = c->in[1]->dim;
    PolyList s = ints(c, STRIDES), p = ints(c, PADS), d = ints(c, DILATIONS),
             extra = ints(c, EXTRA);
    const char *why = dtypes_agree(c, "F");
    int ns = x.n - 2;
    if (why) return why;
    if (ns < 1 || w.n != x.n)
        return "convtranspose needs x [n, c, ..] and w [c, o, ..] of equal rank, at least 3";
    if (s.n != ns || p.n != 2 * ns || d.n != ns || extra.n != ns)
        return "convtranspose needs one stride, dilation and extra size and two pads for each "
               "spatial axis";
    if (c->in[2] && c->in[2]->dim.n != 1) return "the bias of convtranspose must have one axis";
    Poly group = intof(c, GROUP), channels = poly(c, "g*o", group, w.v[1]);
    need_ge(c, group, poly(c, "1"));
    need_eq(c, x.v[1], w.v[0]);
    need_eq(c, x.v[1], poly(c, "g*q", group, quot(c, x.v[1], group)));
    if (c->in[2]) need_eq(c, c->in[2]->dim.v[0], channels);
    c->out[0] = *c->in[0];
    c->out[0].dim.v[1] = channels;
    for (int j = 0; j < ns; j++) {
        need_ge(c, s.v[j], poly(c, "1"));
        need_ge(c, d.v[j], poly(c, "1"));
        c->out[0].dim.v[j + 2] = poly(c, "s*h - s + d*k - d + 1 + e - p - q", s.v[j], x.v[j + 2],
                                      d.v[j], w.v[j + 2], extra.v[j], p.v[j], p.v[j + ns]);
        need_ge(c, c->out[0].dim.v[j + 2], 0);
    }
    return NULL;
}

/* Whether the copies of the kernel in y lie side by side: strides equal the kernel sizes, without
   pads, dilations, groups or extra sizes. Then each element of y sees one place of x and one of the
   kernel, the digits of its index. */
static bool side_by_side(Call *c) {
    Dims w = c->in[1]->dim;
    int64_t number;
    for (int j = 0; j < w.n - 2; j++) {
        if (ints(c, STRIDES).v[j] != w.v[j + 2]) return false;
        if (!is_const(c, ints(c, EXTRA).v[j], &number) || number) return false;
        if (!is_const(c, ints(c, DILATIONS).v[j], &number) || number != 1) return false;
    }
    for (int j = 0; j < 2 * (w.n - 2); j++)
        if (!is_const(c, ints(c, PADS).v[j], &number) || number) return false;
    return is_const(c, intof(c, GROUP), &number) && number == 1;
}
/* The definition otherwise: a sum over all places of x, as far as the kernel laid there covers
   element i. */
static Ex overlapping(Call *c, Dims i) {
    const Dims x = c->in[0]->dim, w = c->in[1]->dim, k = bound(c, dims_tail(x, x.n - 1));
    Dims place = i, tap = i;
    place.v[1] = tap.v[0] = k.v[0];
    tap.v[1] = i.v[1];
    for (int j = 2; j < i.n; j++) {
        place.v[j] = k.v[j - 1];
        tap.v[j] = poly(c, "i + p - s*l", i.v[j], ints(c, PADS).v[j - 2], ints(c, STRIDES).v[j - 2],
                        k.v[j - 1]);
    }
    return sum(c, k, inside(c, tap, w, 2), mul(c, at(c, 0, place), at(c, 1, tap)));
}
static Ex products(Call *c, Dims i) {
    Dims x = c->in[0]->dim, w = c->in[1]->dim, q = bound(c, (Dims){1, {x.v[1]}}), place = i,
         tap = i;
    place.v[1] = tap.v[0] = q.v[0];
    tap.v[1] = i.v[1];
    for (int j = 2; j < i.n; j++) {
        Dims digit = digits(c, i.v[j], (Dims){2, {x.v[j], w.v[j]}});
        place.v[j] = digit.v[0], tap.v[j] = digit.v[1];
    }
    return sum(c, q, (Cond){0}, mul(c, at(c, 0, place), at(c, 1, tap)));
}
static Ex define(Call *c, Dims i) {
    int64_t number;
    if (!is_const(c, intof(c, GROUP), &number) || number != 1) return 0;
    for (int j = 0; j < ints(c, DILATIONS).n; j++)
        if (!is_const(c, ints(c, DILATIONS).v[j], &number) || number != 1) return 0;
    const Ex y = side_by_side(c) ? products(c, i) : overlapping(c, i);
    return c->in[2] ? add(c, y, at(c, 2, (Dims){1, {i.v[1]}})) : y;
}

static int params(Call *c, int64_t param[]) {
    static const int lists[] = {GROUP, STRIDES, PADS, DILATIONS};
    int n = 0;
    for (int j = 0; j < 4; j++)
        if (!add_ints(c, lists[j], param, &n)) return -1;
    return n;
}

/* The place along spatial axis j of x from which place k of the kernel reaches place i of y, or
   -1. */
static int64_t source(const Step *s, int ns, int j, int64_t i, int64_t k, int64_t size) {
    const int64_t *stride = s->param + 2, *pads = stride + ns, *dilation = pads + 2 * ns;
    int64_t e = i + pads[j] - dilation[j] * k;
    return e >= 0 && e % stride[j] == 0 && e / stride[j] < size ? e / stride[j] : -1;
}
static double output_element(const Step *s, void *const slot[], const int64_t i[]) {
    const View *x = &s->view[1], *w = &s->view[2];
    View window = *w;
    int64_t group = s->param[1], part = x->dim[1] / group, from = i[1] / w->dim[1] * part,
            k[STEP_RANK], j[STEP_RANK] = {i[0]};
    double y = 0;
    window.dim[0] = part;
    window.dim[1] = 1;
    for (bool more = kernel_first(&window, k); more; more = kernel_next(&window, k)) {
        bool reached = true;
        for (int a = 2; a < x->rank && reached; a++)
            reached = (j[a] = source(s, x->rank - 2, a - 2, i[a], k[a], x->dim[a])) >= 0;
        if (!reached) continue;
        int64_t kernel[STEP_RANK];
        for (int a = 2; a < x->rank; a++) kernel[a] = k[a];
        j[1] = kernel[0] = from + k[0];
        kernel[1] = i[1] % w->dim[1];
        y += kernel_real(x, slot, kernel_at(x, j)) * kernel_real(w, slot, kernel_at(w, kernel));
    }
    return y;
}
static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *b = s->nview > 3 && s->view[3].rank >= 0 ? &s->view[3] : NULL;
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        double bias = b ? kernel_real(b, slot, kernel_at(b, &i[1])) : 0;
        kernel_set_real(y, slot, kernel_at(y, i), output_element(s, slot, i) + bias);
    }
    return 0;
}

/* ---- Steps, one convolution per phase: the outputs i with (i + p) mod s = r see some of the
   places of the kernel, one after another at equal distances, and neighbouring inputs (without
   dilation, every s-th place from r on). That is a convolution with these places of the kernel in
   reverse order, which writes every s-th element of y. With n spatial axes there are s^n phases,
   for each group; a depthwise convolution (one channel per group) takes all groups at once. */
typedef struct Axis {
    int64_t stride, pad, dilation;
} Axis;

/* The taps of a phase along an axis: places `first`, first + step, .. of the kernel, whose places
   in x lie `dilation` apart. */
typedef struct Taps {
    int64_t first, step, dilation, n;
} Taps;
/* Place k of the kernel is a tap of phase r if d*k mod s = r. */
static Taps taps_of(const Axis *at, int64_t r, int64_t size) {
    const int64_t s = at->stride, common = integer_gcd(s, at->dilation);
    Taps t = {.step = s / common, .dilation = at->dilation / common};
    while (t.first < t.step && at->dilation * t.first % s != r) t.first++;
    if (t.first < t.step && t.first < size) t.n = (size - t.first + t.step - 1) / t.step;
    return t;
}
/* A phase: the views y, x, w of its convolution and, by spatial axis, its pads and its dilation.
   `all`: the outputs of the phase; y has those of them that see x. */
typedef struct Phase {
    View all, y, x, w;
    int64_t begin[STEP_SPATIAL], end[STEP_SPATIAL], dilation[STEP_SPATIAL];
} Phase;
/* Narrows a view along an axis to every s-th place from `first` on. */
static void every(View *v, int axis, int64_t first, int64_t s) {
    v->dim[axis] = v->dim[axis] > first ? (v->dim[axis] - first + s - 1) / s : 0;
    v->offset += first * v->stride[axis], v->stride[axis] *= s;
}
/* Narrows a phase along spatial axis j to the outputs of remainder r. Its pads are at most the
   reach of the kernel: outputs that see only padding are no longer in y. Returns false if no output
   sees x. */
static bool residue(const Axis *at, int j, int64_t r, Phase *p) {
    const int a = j + 2;
    const int64_t s = at->stride, first = ((r - at->pad) % s + s) % s;
    const Taps taps = taps_of(at, r, p->w.dim[a]);
    every(&p->all, a, first, s);
    every(&p->y, a, first, s);
    if (!taps.n) return false;
    const int64_t reach = taps.dilation * (taps.n - 1),
                  begin = reach - (first + at->pad - at->dilation * taps.first) / s,
                  unseen = begin > reach ? begin - reach : 0;
    p->w.offset += (taps.first + taps.step * (taps.n - 1)) * p->w.stride[a];
    p->w.dim[a] = taps.n, p->w.stride[a] *= -taps.step;
    p->dilation[j] = taps.n > 1 ? taps.dilation : 1;
    p->begin[j] = begin - unseen;
    p->y = view_part(&p->y, a, unseen, p->y.dim[a] - unseen);
    if (p->begin[j] < 0) {
        p->x = view_part(&p->x, a, -p->begin[j], p->x.dim[a] + p->begin[j]);
        p->begin[j] = 0;
    }
    p->end[j] = p->y.dim[a] + reach - p->x.dim[a] - p->begin[j];
    if (p->end[j] > reach) p->y.dim[a] -= p->end[j] - reach, p->end[j] = reach;
    if (p->end[j] < 0) p->x.dim[a] += p->end[j], p->end[j] = 0;
    return p->x.dim[a] > 0 && p->y.dim[a] > 0;
}
/* The bias of the channels from `from` on, as a view of the sizes of y. */
static View bias_view(const View *b, const View *y, int64_t from) {
    View v = {b->slot, b->dtype, .rank = y->rank, .offset = b->offset + from * b->stride[0],
              .stride = {[1] = b->stride[0]}};
    for (int k = 0; k < y->rank; k++) v.dim[k] = y->dim[k];
    return v;
}
/* Adds a convolution of v[1] by v[2] with these n parameters, to which the bias of the channels
   from `from` on is added. */
static void biased_conv(const View v[3], const View *bias, int64_t from, int n,
                        const int64_t param[], StepBuf *b) {
    const View all[4] = {v[0], v[1], v[2], bias ? bias_view(bias, &v[0], from) : (View){0}};
    Step *s = step_add(b, S_CONV, bias ? 4 : 3, all);
    step_param(b, s, n, param);
    if (bias)
        step_code(
            b, s, 3,
            (const Scalar[]){{.op = C_ACC}, {.op = C_VIEW, .a = 3}, {.op = C_ADD, .a = 0, .b = 1}});
}
/* Adds the steps of a phase: a convolution, after the bias where no tap reaches. */
static void add_phase(const View whole[3], const View *bias, const Axis axis[], int64_t phase,
                      int64_t group, int64_t from, StepBuf *b) {
    const int ns = whole[1].rank - 2;
    Phase p = {.all = whole[0], .y = whole[0], .x = whole[1], .w = whole[2]};
    int64_t param[1 + 4 * STEP_SPATIAL] = {group};
    bool reached = true;
    for (int a = ns - 1; a >= 0; a--) {
        reached &= residue(&axis[a], a, phase % axis[a].stride, &p);
        phase /= axis[a].stride;
        param[1 + a] = 1, param[1 + ns + a] = p.begin[a], param[1 + 2 * ns + a] = p.end[a],
                  param[1 + 3 * ns + a] = p.dilation[a];
    }
    if (!view_count(&p.all)) return;
    if (!reached || view_count(&p.y) < view_count(&p.all)) {
        const View number = bias ? bias_view(bias, &p.all, from) : p.all;
        if (bias) step_copy(b, &p.all, &number);
        else step_fill(b, &p.all, 0);
    }
    if (reached) biased_conv((const View[3]){p.y, p.x, p.w}, bias, from, 1 + 4 * ns, param, b);
}
/* ---- Steps where each phase would be little work, or there are many phases: one convolution
   computes all phases as its channels, s^n of them at each place of x and a few places around it.
   Its results are then copied to where they belong in y. A kernel whose sizes are not multiples of
   the strides is extended by zeros. */
/* PHASES_MOST: phases (times groups) that may be steps of their own. CHANNELS_FEW: the number of
   channels of y up to which phases are little work. PHASES_MANY: from this number of phases on,
   reading x for each of them takes longer than the copies, which are cheap along a single axis in
   any case. */
enum { PHASES_MOST = 64, CHANNELS_FEW = 8, PHASES_MANY = 16 };
/* A run of outputs along an axis: rows `place` .. `place` + `places` - 1 of the convolution, of
   each of which the phases `first` .. `first` + `count` - 1 are put into y from `at` on. */
typedef struct PhaseRun {
    int64_t place, places, first, count, at;
} PhaseRun;
/* Cuts an axis of y, of this size, into runs, and returns how many: the first and the last row may
   be incomplete and are then runs of their own. */
static int runs_of(int64_t s, int64_t pad, int64_t size, PhaseRun run[3]) {
    int n = 0;
    for (int64_t at = 0; at < size;) {
        const int64_t here = pad + at, first = here % s, left = size - at,
                      places = first || left < s ? 1 : left / s,
                      count = places > 1         ? s
                              : left < s - first ? left
                                                 : s - first;
        run[n++] = (PhaseRun){here / s, places, first, count, at};
        at += places > 1 ? places * s : count;
    }
    return n;
}
/* A view of the kernel [o, phases.., c, taps..]: each spatial place is split into its remainder and
   its quotient by the stride, and the quotients are in reverse order. */
static View apart_kernel(const View *w, const Axis axis[], const int64_t taps[], int ns) {
    View v = {.slot = w->slot, .dtype = w->dtype, .rank = 2 + 2 * ns, .offset = w->offset};
    v.dim[0] = w->dim[1], v.stride[0] = w->stride[1];
    v.dim[1 + ns] = w->dim[0], v.stride[1 + ns] = w->stride[0];
    for (int a = 0; a < ns; a++) {
        const int64_t s = axis[a].stride, step = w->stride[2 + a];
        v.dim[1 + a] = s, v.stride[1 + a] = step;
        v.dim[2 + ns + a] = taps[a], v.stride[2 + ns + a] = -s * step;
        v.offset += s * (taps[a] - 1) * step;
    }
    return v;
}
static View joined_view(const View *buffer, int first, int n, int64_t rows, int64_t columns) {
    View v = *buffer;
    int64_t stride = 1;
    v.rank = 2 + n;
    v.dim[0] = rows, v.dim[1] = columns;
    for (int a = 0; a < n; a++) v.dim[2 + a] = buffer->dim[first + a];
    for (int a = v.rank - 1; a >= 0; a--) v.stride[a] = stride, stride *= v.dim[a];
    return v;
}
static void copy_run(const View *y, const View *from, const PhaseRun *run[], const Axis axis[],
                     int ns, StepBuf *b) {
    View v[2] = {*y, *from};
    v[0].rank = 2 + 2 * ns;
    for (int a = 0; a < ns; a++) {
        const PhaseRun *p = run[a];
        const int64_t step = y->stride[2 + a];
        v[0].offset += p->at * step;
        v[0].stride[2 + a] = step, v[0].stride[2 + ns + a] = axis[a].stride * step;
        v[1].offset += p->first * from->stride[2 + a] + p->place * from->stride[2 + ns + a];
        for (int k = 0; k < 2; k++) v[k].dim[2 + a] = p->count, v[k].dim[2 + ns + a] = p->places;
    }
    step_copy(b, &v[0], &v[1]);
}
static void copy_runs(const View *y, const View *from, const Axis axis[], int ns, StepBuf *b) {
    PhaseRun run[STEP_SPATIAL][3];
    int count[STEP_SPATIAL], total = 1;
    for (int a = 0; a < ns; a++)
        total *= count[a] = runs_of(axis[a].stride, axis[a].pad, y->dim[2 + a], run[a]);
    for (int k = 0; k < total; k++) {
        const PhaseRun *of[STEP_SPATIAL];
        for (int a = 0, left = k; a < ns; left /= count[a++]) of[a] = &run[a][left % count[a]];
        copy_run(y, from, of, axis, ns, b);
    }
}
/* The bias of each phase of each channel, as the channels of the joined convolution. */
static bool joined_bias(const View *bias, const View *kernel, int ns, StepBuf *b, View *joined) {
    View from = {.slot = bias->slot,
                 .dtype = bias->dtype,
                 .rank = 1 + ns,
                 .offset = bias->offset,
                 .stride = {bias->stride[0]}};
    View to;
    memcpy(from.dim, kernel->dim, sizeof from.dim);
    if (!step_buffer(b, bias->dtype, 1 + ns, kernel->dim, &to)) return false;
    step_copy(b, &to, &from);
    *joined = (View){
        to.slot, to.dtype, .rank = 1, .offset = to.offset, .dim = {view_count(&to)}, .stride = {1}};
    return true;
}
/* Extends the kernel by zeros to these sizes. */
static bool extended_kernel(const View *w, int64_t size[], StepBuf *b, View *out) {
    View part;
    if (!step_buffer(b, w->dtype, w->rank, size, out)) return false;
    step_fill(b, out, 0);
    part = *out;
    memcpy(part.dim, w->dim, sizeof part.dim);
    step_copy(b, &part, w);
    return true;
}
static bool join_phases(const View in[], const View *bias, const View *y, const Axis axis[],
                        StepBuf *b) {
    const int ns = in[0].rank - 2;
    int64_t taps[STEP_SPATIAL], phases = 1, param[1 + 4 * STEP_SPATIAL] = {1};
    int64_t dim[STEP_RANK] = {in[0].dim[0], in[1].dim[1]}, whole[STEP_RANK];
    View w, kernel, from, repeated, extended = in[1];
    bool ragged = false;
    memcpy(whole, in[1].dim, sizeof whole);
    for (int a = 0; a < ns; a++) {
        const int64_t s = axis[a].stride, size = in[1].dim[2 + a];
        if (axis[a].dilation != 1 || axis[a].pad < 0 || axis[a].pad >= size) return false;
        taps[a] = (size + s - 1) / s, phases *= s;
        whole[2 + a] = s * taps[a];
        ragged |= size % s != 0;
        dim[2 + a] = s, dim[2 + ns + a] = in[0].dim[2 + a] + taps[a] - 1;
        if (axis[a].pad + y->dim[2 + a] > s * dim[2 + ns + a]) return false;
        param[1 + a] = param[1 + 3 * ns + a] = 1;
        param[1 + ns + a] = param[1 + 2 * ns + a] = taps[a] - 1;
    }
    if (ragged && (in[1].dim[1] > CHANNELS_FEW || !extended_kernel(&in[1], whole, b, &extended)))
        return false;
    const View apart = apart_kernel(&extended, axis, taps, ns);
    if (2 + 2 * ns > STEP_RANK || !step_buffer(b, apart.dtype, apart.rank, apart.dim, &kernel) ||
        !step_buffer(b, y->dtype, 2 + 2 * ns, dim, &from) ||
        (bias && !joined_bias(bias, &kernel, ns, b, &repeated)))
        return false;
    step_copy(b, &kernel, &apart);
    w = joined_view(&kernel, 2 + ns, ns, in[1].dim[1] * phases, in[1].dim[0]);
    const View out = joined_view(&from, 2 + ns, ns, in[0].dim[0], in[1].dim[1] * phases);
    biased_conv((const View[3]){out, in[0], w}, bias ? &repeated : NULL, 0, 1 + 4 * ns, param, b);
    copy_runs(y, &from, axis, ns, b);
    return true;
}

/* ---- Steps for few channels where the target runs col2im: one product makes what each place of x
   adds to the windows of all channels, [n, o*k.., places], and col2im adds the windows up. */

/* A view whose last n axes are one, if they lie one after another. */
static bool last_axes_joined(View *v, int n) {
    const int first = v->rank - n;
    for (int a = v->rank - 1; a > first; a--)
        if (v->stride[a - 1] != v->stride[a] * v->dim[a]) return false;
    for (int a = first + 1; a < v->rank; a++) v->dim[first] *= v->dim[a];
    v->stride[first] = v->stride[v->rank - 1];
    v->rank = first + 1;
    return !v->format;
}
static bool add_windows(const View *y, const View *x, const View *w, const View *products,
                        const Axis axis[], StepBuf *b) {
    const int ns = x->rank - 2;
    int64_t of[STEP_SPATIAL][COL2IM_AXIS_PARAMS];
    for (int a = 0; a < ns; a++) {
        of[a][COL2IM_BLOCK] = w->dim[2 + a], of[a][COL2IM_PLACES] = x->dim[2 + a];
        of[a][COL2IM_STRIDE] = axis[a].stride, of[a][COL2IM_PAD] = axis[a].pad;
        of[a][COL2IM_DILATION] = axis[a].dilation;
    }
    return step_col2im(b, y, products, ns, of);
}
/* Whether one convolution for all phases is faster: its channels fill vectors, the zeros by which
   the kernel is extended add at most half of the work, and windows overlap or there are many
   axes. */
static bool fills_vectors(const View *w, const Axis axis[]) {
    enum { LANES = 16 };
    int64_t channels = w->dim[1], kernel = 1, extended = 1;
    bool overlap = w->rank > 4;
    for (int a = 0; a < w->rank - 2; a++) {
        const int64_t s = axis[a].stride, size = w->dim[2 + a];
        channels *= s, kernel *= size, extended *= (size + s - 1) / s * s;
        overlap |= size > s;
    }
    return overlap && channels % LANES == 0 && 2 * extended <= 3 * kernel;
}
static bool product_of_windows(const View in[], const View *bias, const View *y, const Axis axis[],
                               int64_t group, StepBuf *b) {
    const int ns = in[0].rank - 2;
    View x = in[0], w = in[1], sums;
    if (!last_axes_joined(&x, ns) || !last_axes_joined(&w, 1 + ns)) return false;
    const int64_t n = x.dim[0], channels = w.dim[0] / group;
    const int64_t dim[] = {n, group * w.dim[1], x.dim[2]};
    if (!step_buffer(b, y->dtype, 3, dim, &sums)) return false;
    const View products = {sums.slot,
                           sums.dtype,
                           .rank = 4,
                           .dim = {n, group, w.dim[1], x.dim[2]},
                           .stride = {sums.stride[0], w.dim[1] * sums.stride[1], sums.stride[1],
                                      sums.stride[2]},
                           .offset = sums.offset},
               rows = {w.slot,
                       w.dtype,
                       .rank = 4,
                       .offset = w.offset,
                       .dim = {n, group, w.dim[1], channels},
                       .stride = {0, channels * w.stride[0], w.stride[1], w.stride[0]}},
               columns = {
                   x.slot,
                   x.dtype,
                   .rank = 4,
                   .offset = x.offset,
                   .dim = {n, group, channels, x.dim[2]},
                   .stride = {x.stride[0], channels * x.stride[1], x.stride[1], x.stride[2]}};
    step_add(b, S_GEMM, 3, (const View[]){products, rows, columns});
    if (!add_windows(y, &in[0], &in[1], &sums, axis, b)) return false;
    if (bias)
        step_code(b, step_add(b, S_EWISE, 3, (const View[]){*y, *y, bias_view(bias, y, 0)}), 3,
                  (const Scalar[]){{.op = C_VIEW, .a = 1},
                                   {.op = C_VIEW, .a = 2},
                                   {.op = C_ADD, .a = 0, .b = 1}});
    return true;
}

static bool phase_steps(const View in[], const View *bias, const View *y, const Axis axis[],
                        int64_t phases, int64_t group, StepBuf *b) {
    static const int exchanged[STEP_RANK] = {1, 0, 2, 3, 4, 5, 6, 7};
    const int64_t channels = in[1].dim[1];
    const bool depthwise = channels == 1 && group > 1;
    const int64_t parts = depthwise ? 1 : group;
    if (parts * phases > PHASES_MOST || (depthwise && in[1].dim[0] != group)) return false;
    for (int64_t g = 0; g < parts; g++)
        for (int64_t k = 0; k < phases; k++) {
            View v[3] = {view_part(y, 1, g * channels, depthwise ? group : channels),
                         view_part(&in[0], 1, g * (in[0].dim[1] / parts), in[0].dim[1] / parts),
                         view_part(&in[1], 0, g * (in[1].dim[0] / parts), in[1].dim[0] / parts)};
            if (!depthwise) v[2] = view_axes(&v[2], v[2].rank, exchanged);
            add_phase(v, bias, axis, k, depthwise ? group : 1, g * channels, b);
        }
    return true;
}
static int write_steps(Call *c, const View in[], const View out[], StepBuf *b) {
    const int ns = in[0].rank - 2;
    const int64_t group = step_size(b, intof(c, GROUP)), channels = in[1].dim[1];
    const View *bias = c->in[2] ? &in[2] : NULL;
    const int buffers = b->nbuffers, steps = b->n;
    int64_t phases = 1;
    bool dilated = false;
    Axis axis[STEP_RANK];
    for (int a = 0; a < ns; a++) {
        axis[a] = (Axis){step_size(b, ints(c, STRIDES).v[a]), step_size(b, ints(c, PADS).v[a]),
                         step_size(b, ints(c, DILATIONS).v[a])};
        dilated |= axis[a].stride > 1 && axis[a].dilation > 1;
        phases = axis[a].stride > PHASES_MOST || phases > PHASES_MOST ? PHASES_MOST + 1
                                                                      : phases * axis[a].stride;
    }
    if (ns > STEP_SPATIAL || !view_count(&in[0]) || !view_count(&in[1]) || !view_count(&out[0]) ||
        in[0].dim[1] % group)
        return 0;
    const bool some = group == 1 && phases > 1 && !dilated,
               joined = ns == 1 || phases >= PHASES_MANY || channels <= CHANNELS_FEW;
    if (some && phases <= PHASES_MOST && channels <= CHANNELS_FEW && !fills_vectors(&in[1], axis) &&
        product_of_windows(in, bias, &out[0], axis, group, b))
        return 1;
    b->nbuffers = buffers, b->n = steps;
    if (some && joined && join_phases(in, bias, &out[0], axis, b)) return 1;
    b->nbuffers = buffers, b->n = steps;
    if (phase_steps(in, bias, &out[0], axis, phases, group, b)) return 1;
    return product_of_windows(in, bias, &out[0], axis, group, b);
}

static const OnnxMap onnx[] = {
    {"", "ConvTranspose", 1, 0,
     "group strides dilations extra=output_padding pads:transposed kernel_shape:check"},
    {0},
};
const Op op_convtranspose = {
    "convtranspose",  "x w b?",         "y",         attrs, shape, define, .steps = write_steps,
    .kernel = kernel, .params = params, .onnx = onnx};
