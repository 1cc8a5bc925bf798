/* means.c -- means over windows of small planes of floats, PLANE_LANES planes at once: each has a
   lane of the vectors, so that a window takes as many vector operations as one output has terms,
   whatever the stride, and none is left over at the end of a row.

   Some rows of the planes, a band, are transposed. For each row of outputs the rows of its windows
   are added, then the columns, in the order of planes.c, and the sums are divided. The outputs are
   transposed back. */
#include "ops/base/least.h"
#include "ops/cpu/cpu.h"
#include <string.h>

/* BAND: elements of a plane's band, at most, unless a single row of outputs reads more; the
   transposed band and its outputs stay in the first level of the cache. FEW_PLANES: the fewest
   planes that are worth whole vectors. Planes.c is faster for more than SMALL outputs of a plane if
   the windows move by one element along each axis, and for planes of more than MODERATE elements
   that it needs not copy; neighbours.c is for windows of many cells in planes of more than MODERATE
   elements. */
enum { BAND = 512, FEW_PLANES = PLANE_LANES / 2, SMALL = 100, MODERATE = 1024 };
typedef struct Means {
    View y, x;
    Window g;
    int64_t batches, planes;   /* planes of a batch */
    int64_t height;            /* output rows of a band, at most */
    int64_t room;              /* columns of a row of sums, those of the padding included */
    const float *divisor;      /* of each output of a plane */
    size_t band, line, result; /* scratch memory */
    void (*transpose)(uint32_t *y, int64_t ys, const uint32_t *x, int64_t xs, int64_t rows,
                      int64_t columns);
    LaneMeans *means;
} Means;

/* The first row that the windows of output row oh read, and the row after their last; the padding
   is left out. */
static int64_t first_row(const Window *g, int64_t oh) {
    const int64_t first = oh * g->stride[1] - g->begin[1], d = g->dilation[1];
    return first >= 0 ? first : first + (d - 1 - first) / d * d;
}
static int64_t end_row(const Window *g, int64_t oh) {
    const int64_t last = oh * g->stride[1] - g->begin[1] + (g->kernel[1] - 1) * g->dilation[1],
                  beyond = last - (g->in[1] - 1), d = g->dilation[1];
    return (beyond > 0 ? last - (beyond + d - 1) / d * d : last) + 1;
}
/* Computes output row oh of the planes. band: their rows from `from` on. */
static void run_row(const Means *m, float *work_line, float *result, const float *band,
                    int64_t from, int64_t oh) {
    const Window *g = &m->g;
    const int64_t first = first_row(g, oh), end = end_row(g, oh), width = g->in[2];
    const int64_t terms = end > first ? (end - first + g->dilation[1] - 1) / g->dilation[1] : 0;
    m->means(work_line + g->begin[2] * PLANE_LANES, band + (first - from) * width * PLANE_LANES, 1,
             g->dilation[1] * width, terms, NULL, width);
    m->means(result, work_line, g->stride[2], g->dilation[2], g->kernel[2],
             m->divisor + oh * g->out[2], g->out[2]);
}
/* Computes `height` output rows from oh on of n planes. */
static void run_band(const Means *m, char *work, float *y, const float *x, int64_t n, int64_t oh,
                     int64_t height) {
    const Window *g = &m->g;
    float *band = (float *)(void *)(work + m->band), *line = (float *)(void *)(work + m->line),
          *result = (float *)(void *)(work + m->result);
    const int64_t top = oh * g->stride[1] - g->begin[1],
                  bottom = top + (height - 1) * g->stride[1] + (g->kernel[1] - 1) * g->dilation[1],
                  from = top > 0 ? top : 0, end = int64_least(bottom + 1, g->in[1]),
                  row = g->out[2];
    if (end > from)
        m->transpose((uint32_t *)(void *)band, PLANE_LANES,
                     (const uint32_t *)(const void *)(x + from * g->in[2]), m->x.stride[1], n,
                     (end - from) * g->in[2]);
    for (int64_t r = 0; r < height; r++)
        run_row(m, line, result + r * row * PLANE_LANES, band, from, oh + r);
    m->transpose((uint32_t *)(void *)(y + oh * row), m->y.stride[1],
                 (const uint32_t *)(const void *)result, PLANE_LANES, height * row, n);
}
static int means_run(const Kernel *k, void *const slot[], void *work) {
    const Means *m = k->self;
    float *y = view_at(&m->y, slot, work);
    const float *x = view_at(&m->x, slot, work);
    const int64_t rows = m->g.out[1];
    memset((char *)work + m->line, 0, (size_t)(m->room * PLANE_LANES) * sizeof(float));
    for (int64_t b = 0; b < m->batches; b++, y += m->y.stride[0], x += m->x.stride[0])
        for (int64_t c = 0; c < m->planes; c += PLANE_LANES)
            for (int64_t oh = 0; oh < rows; oh += m->height)
                run_band(m, work, y + c * m->y.stride[1], x + c * m->x.stride[1],
                         int64_least(m->planes - c, PLANE_LANES), oh,
                         int64_least(rows - oh, m->height));
    return 0;
}

/* Whether each plane of w is an area of memory without gaps. */
static bool planes_are_whole(const View *w) {
    int64_t stride = 1;
    for (int a = w->rank - 1; a >= 2; stride *= w->dim[a--])
        if (w->dim[a] > 1 && w->stride[a] != stride) return false;
    return true;
}
/* Whether this is faster than planes.c and neighbours.c. */
static bool means_likely(const Window *g) {
    if (g->kernel[1] * g->kernel[2] > PLANES_FEW) return g->in[1] * g->in[2] <= MODERATE;
    if (g->kernel[1] > 1 && g->in[2] >= NEIGHBOURS_ROW) return false;
    if (g->stride[1] == 1 && g->stride[2] == 1) return g->out[1] * g->out[2] <= SMALL;
    const bool copies =
        g->begin[1] || g->begin[2] || g->end[1] > 0 || g->end[2] > 0 || g->in[2] % g->stride[2];
    return copies || g->in[1] * g->in[2] <= MODERATE;
}
static bool means_fit(const Step *s, const Window *g) {
    const View *y = &s->view[0], *x = &s->view[1];
    return s->param[POOL_KIND] == POOL_MEAN && !s->ncode && y->dtype == DT_FLOAT &&
           x->dtype == DT_FLOAT && !x->format && !y->format && planes_are_whole(y) &&
           planes_are_whole(x) && g->in[0] == 1 && g->out[0] == 1 && g->kernel[0] == 1 &&
           g->begin[0] == 0 && g->kernel[1] + g->kernel[2] <= PLANES_FEW && means_likely(g);
}
static const float *make_divisors(Build *b, const Window *g) {
    const int64_t *rows = window_cells(b, g, 1), *columns = window_cells(b, g, 2),
                  *depth = window_cells(b, g, 0);
    float *divisor = ARENA_NEW(b->arena, float, g->out[1] * g->out[2]);
    for (int64_t k = 0; k < g->out[1] * g->out[2]; k++)
        divisor[k] = (float)(depth[0] * rows[k / g->out[2]] * columns[k % g->out[2]]);
    return divisor;
}
/* The output rows of a band: as many as read at most BAND elements of a plane, and one at least. */
static int64_t band_height(const Window *g) {
    const int64_t reach = (g->kernel[1] - 1) * g->dilation[1] + 1,
                  more = (BAND / g->in[2] - reach) / g->stride[1], height = more > 0 ? more + 1 : 1;
    return int64_least(height, g->out[1]);
}
bool means_build(Build *b, Kernel *k) {
    const Step *s = b->step;
    Means *m = ARENA_NEW(b->arena, Means, 1);
    m->y = s->view[0], m->x = s->view[1];
    m->g = window_new(s, &m->y, &m->x);
    const Window *g = &m->g;
    if (view_count(&m->y) == 0 || view_count(&m->x) == 0 || !means_fit(s, g)) return false;
    const bool joined = m->y.stride[0] == m->y.stride[1] * m->y.dim[1] &&
                        m->x.stride[0] == m->x.stride[1] * m->x.dim[1];
    m->batches = joined ? 1 : m->y.dim[0];
    m->planes = joined ? m->y.dim[0] * m->y.dim[1] : m->y.dim[1];
    if (m->planes < FEW_PLANES) return false;
    const int64_t reached =
                      (g->out[2] - 1) * g->stride[2] + (g->kernel[2] - 1) * g->dilation[2] + 1,
                  own = g->begin[2] + g->in[2];
    m->room = own > reached ? own : reached;
    m->height = band_height(g);
    m->divisor = make_divisors(b, g);
    const int64_t reach = (m->height - 1) * g->stride[1] + (g->kernel[1] - 1) * g->dilation[1] + 1,
                  vector = PLANE_LANES * (int64_t)sizeof(float);
    m->band = build_bytes(b, (size_t)(int64_least(reach, g->in[1]) * g->in[2] * vector));
    m->line = build_bytes(b, (size_t)(m->room * vector));
    m->result = build_bytes(b, (size_t)(m->height * g->out[2] * vector));
    m->transpose = b->device->simd->transpose, m->means = b->device->simd->lane_means;
    k->run = means_run, k->self = m;
    return true;
}
