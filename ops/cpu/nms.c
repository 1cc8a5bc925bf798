/* nms.c -- non-maximum suppression (ops/nms.c).

   The boxes of an image are read once. For each class, the boxes whose score is above the threshold
   are taken from a heap until enough are kept, the best first and, among equal ones, the one with
   the lower index. Overlaps are computed in doubles, as the reference kernel does. */
#include "ops/cpu/cpu.h"
#include "ops/operator/op_kernel.h"

typedef struct Box {
    double low[2], high[2], area;
} Box;
typedef struct Nms { /* most: boxes that are kept for an image and class, at most */
    View y, boxes, scores;
    int64_t images, classes, n, most; /* n: boxes of an image */
    double iou, threshold;
    bool center;
    size_t box, kept, order; /* offsets into the scratch memory: a Box for each box, a Box for each
                                kept one, indices */
    size_t score;            /* and the scores, as floats */
} Nms;

static void read_boxes(const Nms *m, Box *box, const float *x) {
    const int64_t *stride = m->boxes.stride + 1;
    for (int64_t i = 0; i < m->n; i++) {
        Box *b = &box[i];
        for (int k = 0; k < 2; k++) {
            const double p = (double)x[i * stride[0] + k * stride[1]],
                         q = (double)x[i * stride[0] + (k + 2) * stride[1]],
                         from = m->center ? p - q / 2 : p, to = m->center ? p + q / 2 : q;
            b->low[k] = from < to ? from : to;
            b->high[k] = from < to ? to : from;
        }
        b->area = (b->high[0] - b->low[0]) * (b->high[1] - b->low[1]);
    }
}
static bool suppressed(const Box *b, const Box *kept, int64_t n, double iou) {
    for (int64_t i = 0; i < n; i++) {
        double joint = 1;
        for (int k = 0; k < 2; k++) {
            const double low = b->low[k] > kept[i].low[k] ? b->low[k] : kept[i].low[k],
                         high = b->high[k] < kept[i].high[k] ? b->high[k] : kept[i].high[k];
            joint *= high > low ? high - low : 0;
        }
        const double all = b->area + kept[i].area - joint;
        if ((all > 0 ? joint / all : 0) > iou) return true;
    }
    return false;
}
/* Whether box i is taken before box j. */
static bool before(const float *score, int64_t i, int64_t j) {
    return score[i] > score[j] || (score[i] == score[j] && i < j);
}
static void sink(const float *score, int64_t *heap, int64_t at, int64_t n) {
    const int64_t value = heap[at];
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && before(score, heap[child + 1], heap[child])) child++;
        if (!before(score, heap[child], value)) break;
        heap[at] = heap[child];
    }
    heap[at] = value;
}
/* Makes a heap of the boxes above the threshold and returns their number. */
static int64_t heap_of(const Nms *m, const float *score, int64_t *heap) {
    int64_t n = 0;
    for (int64_t i = 0; i < m->n; i++)
        if ((double)score[i] > m->threshold) heap[n++] = i;
    for (int64_t i = n / 2; i-- > 0;) sink(score, heap, i, n);
    return n;
}
static int nms_run(const Kernel *k, void *const slot[], void *work) {
    const Nms *m = k->self;
    char *const scratch = work;
    Box *box = (Box *)(void *)(scratch + m->box), *kept = (Box *)(void *)(scratch + m->kept);
    int64_t *heap = (int64_t *)(void *)(scratch + m->order),
            row = 0, *const y = view_at(&m->y, slot, work);
    const int64_t *step = m->y.stride;
    float *score = (float *)(void *)(scratch + m->score);
    const float *boxes = view_at(&m->boxes, slot, work), *scores = view_at(&m->scores, slot, work);
    for (int64_t image = 0; image < m->images; image++) {
        read_boxes(m, box, boxes + image * m->boxes.stride[0]);
        for (int64_t class = 0; class < m->classes; class ++) {
            const float *from = scores + image * m->scores.stride[0] + class * m->scores.stride[1];
            for (int64_t i = 0; i < m->n; i++) score[i] = from[i * m->scores.stride[2]];
            int64_t found = 0;
            for (int64_t left = heap_of(m, score, heap); left > 0 && found < m->most; left--) {
                const int64_t best = heap[0];
                heap[0] = heap[left - 1];
                sink(score, heap, 0, left - 1);
                if (suppressed(&box[best], kept, found, m->iou)) continue;
                if (row >= m->y.dim[0]) return -1;
                kept[found++] = box[best];
                y[row * step[0]] = image, y[row * step[0] + step[1]] = class;
                y[row++ * step[0] + 2 * step[1]] = best;
            }
        }
    }
    for (; row < m->y.dim[0]; row++)
        for (int64_t c = 0; c < 3; c++) y[row * step[0] + c * step[1]] = -1;
    return 0;
}

/* Builds the kernel. Parameters of the step: the most boxes per class, the bits of the thresholds
   for overlap and score, and 1 if boxes are given as a centre and sizes. */
bool nms_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const Step *s = b->step;
    const View *v = s->view;
    if (v[0].dtype != DT_INT64 || v[1].dtype != DT_FLOAT || v[2].dtype != DT_FLOAT) return false;
    Nms *m = ARENA_NEW(b->arena, Nms, 1);
    *m = (Nms){.y = v[0],
               .boxes = v[1],
               .scores = v[2],
               .images = v[2].dim[0],
               .classes = v[2].dim[1],
               .n = v[2].dim[2],
               .most = s->param[NMS_MOST],
               .iou = param_real(s->param[NMS_OVERLAP]),
               .threshold = param_real(s->param[NMS_SCORE]),
               .center = s->param[NMS_CENTER] != 0};
    m->box = build_bytes(b, (size_t)m->n * sizeof(Box));
    m->kept = build_bytes(b, (size_t)m->n * sizeof(Box));
    m->order = build_bytes(b, (size_t)m->n * sizeof(int64_t));
    m->score = build_bytes(b, (size_t)m->n * sizeof(float));
    k->run = nms_run, k->self = m;
    return true;
}
