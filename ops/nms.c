/* nms: the boxes that non-maximum suppression keeps. For each image and class it goes through the
   boxes with scores above `score_threshold`, from the best score on, and keeps a box unless its
   intersection over union with a box kept before exceeds `iou_threshold`, until `most` are kept.

   boxes is [b, n, 4], scores [b, c, n], y [kept, 3] with rows (image, class, box). The size `kept`
   depends on data. */
#include "ops/operator/op.h"
enum { KEPT, MOST, IOU, SCORE, CENTER };
static const AttrDef attrs[] = {
    [KEPT] = {.name = "kept", .kind = A_INT},
    [MOST] = {.name = "most", .kind = A_INT, .init = "0"},
    [IOU] = {.name = "iou_threshold", .kind = A_REAL, .init = "0"},
    [SCORE] = {.name = "score_threshold", .kind = A_REAL, .init = "-3.4028234663852886e38"},
    [CENTER] = {"center", A_ENUM, "no", "no yes", .draw = "no yes"},
    {0},
};

static const char *shape(Call *c) {
    Dims boxes = c->in[0]->dim, scores = c->in[1]->dim;
    if (boxes.n != 3 || scores.n != 3) return "nms needs boxes [b, n, 4] and scores [b, c, n]";
    need_eq(c, boxes.v[0], scores.v[0]);
    need_eq(c, boxes.v[1], scores.v[2]);
    need_eq(c, boxes.v[2], poly(c, "4"));
    need_ge(c, intof(c, KEPT), 0);
    c->out[0] = (Type){.dtype = DT_INT64, .dim = {2, {intof(c, KEPT), poly(c, "3")}}};
    return dtypes_agree(c, "F");
}

static int params(Call *c, int64_t param[]) {
    if (!is_const(c, intof(c, MOST), &param[NMS_MOST]) || !bits_of(c, IOU, &param[NMS_OVERLAP]) ||
        !bits_of(c, SCORE, &param[NMS_SCORE]))
        return -1;
    param[NMS_CENTER] = enum_value(c, CENTER);
    return 4;
}

typedef struct Box {
    double low[2], high[2];
} Box;
static Box box_at(const Step *s, void *const slot[], int64_t image, int64_t box) {
    const View *v = &s->view[1];
    double x[4];
    Box b;
    for (int64_t k = 0; k < 4; k++)
        x[k] = kernel_real(v, slot, kernel_at(v, (int64_t[]){image, box, k}));
    for (int k = 0; k < 2; k++) {
        double from = s->param[NMS_CENTER] ? x[k] - x[k + 2] / 2 : x[k],
               to = s->param[NMS_CENTER] ? x[k] + x[k + 2] / 2 : x[k + 2];
        b.low[k] = from < to ? from : to;
        b.high[k] = from < to ? to : from;
    }
    return b;
}
static double area(const Box *b) { return (b->high[0] - b->low[0]) * (b->high[1] - b->low[1]); }
static double overlap(const Box *a, const Box *b) {
    double joint = 1;
    for (int k = 0; k < 2; k++) {
        double low = a->low[k] > b->low[k] ? a->low[k] : b->low[k],
               high = a->high[k] < b->high[k] ? a->high[k] : b->high[k];
        joint *= high > low ? high - low : 0;
    }
    double all = area(a) + area(b) - joint;
    return all > 0 ? joint / all : 0;
}

/* The box that follows box `last` in descending order of scores (-1: the first), or -1 if there is
   none above the threshold. */
static int64_t next(const Step *s, void *const slot[], int64_t image, int64_t class, int64_t last) {
    const View *v = &s->view[2];
    double limit = param_real(s->param[NMS_SCORE]), before = 0, best_score = 0;
    int64_t best = -1;
    if (last >= 0) before = kernel_real(v, slot, kernel_at(v, (int64_t[]){image, class, last}));
    for (int64_t k = 0; k < v->dim[2]; k++) {
        double score = kernel_real(v, slot, kernel_at(v, (int64_t[]){image, class, k}));
        if (!(score > limit) || (last >= 0 && (score > before || (score == before && k <= last))))
            continue;
        if (best < 0 || score > best_score) best = k, best_score = score;
    }
    return best;
}
static bool suppressed(const Step *s, void *const slot[], int64_t image, int64_t box, int64_t first,
                       int64_t end) {
    const View *y = &s->view[0];
    Box b = box_at(s, slot, image, box);
    for (int64_t row = first; row < end; row++) {
        Box other =
            box_at(s, slot, image, kernel_integer(y, slot, kernel_at(y, (int64_t[]){row, 2})));
        if (overlap(&b, &other) > param_real(s->param[NMS_OVERLAP])) return true;
    }
    return false;
}
/* Rows beyond the boxes that are kept hold -1. */
static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *scores = &s->view[2];
    int64_t row = 0;
    for (int64_t image = 0; image < scores->dim[0]; image++)
        for (int64_t class = 0; class < scores->dim[1]; class ++) {
            int64_t first = row;
            for (int64_t box = next(s, slot, image, class, -1);
                 box >= 0 && row - first < s->param[NMS_MOST];
                 box = next(s, slot, image, class, box)) {
                if (suppressed(s, slot, image, box, first, row)) continue;
                if (row >= y->dim[0]) return -1;
                int64_t found[] = {image, class, box};
                for (int64_t k = 0; k < 3; k++)
                    kernel_set_integer(y, slot, kernel_at(y, (int64_t[]){row, k}), found[k]);
                row++;
            }
        }
    for (; row < y->dim[0]; row++)
        for (int64_t k = 0; k < 3; k++)
            kernel_set_integer(y, slot, kernel_at(y, (int64_t[]){row, k}), -1);
    return 0;
}

static const OnnxMap onnx[] = {
    {"", "NonMaxSuppression", 10, 0,
     "most=input:2 iou_threshold=input:3 score_threshold=input:4 center=center_point_box kept:nms"},
    {0}};
const Op op_nms = {
    "nms", "boxes scores", "y", attrs, shape, .kernel = kernel, .params = params, .onnx = onnx};
