/* conv.c -- orders the algorithms that can run a convolution, the one expected to be fastest first,
   and cuts the step into parts for threads.

   The algorithms are Winograd's tiles (winograd.c), oneDNN's, packed panels (panels.c), vectors of
   channels (depthwise.c), taps (taps.c) and plain loops (direct.c). All of them see the step in a
   normal form: taps (places of the kernel) that always lie in the padding and spatial axes of
   length 1 are removed, and a window that is alone on its axis has a stride of 1. */
#include "ops/cpu/cpu.h"
#include <string.h>

bool conv_fits(const Step *s) {
    const int n = s->view[1].rank - 2;
    return step_spatial(s) && s->view[2].rank == 2 + n &&
           s->nparam == window_params(s) + step_has_zero(s) && s->param[CONV_GROUP] > 0 &&
           s->view[0].dim[0] == s->view[1].dim[0] && s->view[0].dim[1] == s->view[2].dim[0] &&
           s->view[0].dim[1] % s->param[CONV_GROUP] == 0 &&
           s->view[2].dim[1] * s->param[CONV_GROUP] == s->view[1].dim[1] &&
           dtype_numeric(s->view[0].dtype) && dtype_numeric(s->view[1].dtype) &&
           dtype_numeric(s->view[2].dtype);
}
typedef enum ConvAlgorithm {
    CONV_DNN_PLAIN = DNN_PLAIN,
    CONV_DNN_ANY = DNN_ANY,
    CONV_DNN_WINOGRAD = DNN_WINOGRAD,
    CONV_WINOGRAD,
    CONV_PANELS,
    CONV_DEPTHWISE,
    CONV_TAPS,
    CONV_TAPS_TOGETHER,
    CONV_DIRECT,
    CONV_ALGORITHMS
} ConvAlgorithm;
/* Whether our depthwise kernel is expected to be faster than oneDNN. oneDNN runs plain loops on
   images with one or three spatial axes, copies images that have gaps, and needs as long for a few
   channels as for a full vector. */
static bool depthwise_first(const Device *d, const Step *s) {
    return depthwise_possible(s) && (s->view[1].rank != 4 || s->view[2].dim[0] < d->simd->width ||
                                     !view_is_packed(&s->view[0]) || !view_is_packed(&s->view[1]));
}
/* Lists the algorithms that can run the step, the one expected to be fastest first; returns how
   many. An algorithm that is fast for some steps alone has two places in the list. Winograd's
   methods multiply less but transform images and weights, which pays from CHANNELS channels on both
   sides and some places per channel on; our own transforms are faster. */
static int conv_algorithms(const Device *d, const Step *s,
                           ConvAlgorithm algorithm[CONV_ALGORITHMS]) {
    enum { CHANNELS = 64, PLACES = 14 * 14, PLACES_DNN = 28 * 28 };
    const View *y = &s->view[0];
    const int64_t ins = s->view[2].dim[1], taps = conv_terms(s) / (ins ? ins : 1),
                  group = s->param[CONV_GROUP], places = y->dim[1] ? view_count(y) / y->dim[1] : 0;
    const bool last = view_is_channels_last(y) || view_is_channels_last(&s->view[1]),
               plain_first = (taps == 1 && group == 1) || last,
               many = s->view[2].dim[0] >= CHANNELS && ins >= CHANNELS,
               together = !last && taps_together_possible(s),
               together_first = together && taps_together_likely(s),
               alone = !together && taps_possible(s),
               alone_first = alone && group > 1 && ins <= 2 && !last,
               depthwise = depthwise_possible(s), vectors_first = depthwise_first(d, s),
               tiles = winograd_possible(d, s), tiles_first = many && places >= PLACES,
               dnn_tiles = dnn_conv_possible(d, s, DNN_WINOGRAD),
               dnn_tiles_first = many && places >= PLACES_DNN,
               dnn_plain = dnn_conv_possible(d, s, DNN_PLAIN);
    const struct {
        ConvAlgorithm algorithm;
        bool here;
    } place[] = {
        {CONV_TAPS_TOGETHER, together_first},
        {CONV_TAPS, alone_first},
        {CONV_DEPTHWISE, vectors_first},
        {CONV_WINOGRAD, tiles && tiles_first},
        {CONV_DNN_WINOGRAD, dnn_tiles && dnn_tiles_first},
        {CONV_PANELS, panels_conv_possible(d, s)},
        {CONV_DNN_PLAIN, dnn_plain && plain_first},
        {CONV_DNN_ANY, dnn_conv_possible(d, s, DNN_ANY)},
        {CONV_DNN_PLAIN, dnn_plain && !plain_first},
        {CONV_DNN_WINOGRAD, dnn_tiles && !dnn_tiles_first},
        {CONV_WINOGRAD, tiles && !tiles_first},
        {CONV_DEPTHWISE, depthwise && !vectors_first},
        {CONV_TAPS_TOGETHER, together && !together_first},
        {CONV_TAPS, alone && !alone_first},
        {CONV_DIRECT, true},
    };
    int n = 0;
    for (size_t k = 0; k < sizeof place / sizeof *place; k++)
        if (place[k].here) algorithm[n++] = place[k].algorithm;
    return n;
}
/* Outermost taps along an axis that lie in the padding for all windows: how many can be removed at
   the beginning and at the end. At least one tap remains. */
typedef struct Idle {
    int64_t begin, end;
} Idle;
static Idle idle_taps(int64_t out, int64_t in, int64_t taps, int64_t stride, int64_t pad,
                      int64_t dilation) {
    Idle idle = {0};
    const int64_t last = (out - 1) * stride - pad; /* where the last window begins */
    while (idle.begin + 1 < taps && last + idle.begin * dilation < 0 &&
           pad >= (idle.begin + 1) * dilation)
        idle.begin++;
    while (idle.begin + idle.end + 1 < taps && (taps - 1 - idle.end) * dilation - pad >= in)
        idle.end++;
    return idle;
}
/* Removes such taps: a kernel that is dilated beyond its image becomes smaller. */
static void trim(const Step *s, View view[], int64_t param[]) {
    const StepWindow old = step_window(s);
    View *w = &view[2];
    for (int i = 0; i < old.n; i++) {
        const int64_t dilation = old.dilation[i];
        const Idle idle = idle_taps(view[0].dim[2 + i], view[1].dim[2 + i], w->dim[2 + i],
                                    old.stride[i], old.begin[i], dilation);
        w->dim[2 + i] -= idle.begin + idle.end;
        w->offset += idle.begin * w->stride[2 + i];
        param[window_param(s, WINDOW_BEGINS, i)] -= idle.begin * dilation;
        param[window_param(s, WINDOW_ENDS, i)] -= idle.end * dilation;
    }
}
/* Removes spatial axes of length 1, but keeps one spatial axis. oneDNN blocks along the last axis
   only, so a last axis of length 1 would be slow. */
static void squeeze(Step *s, View view[], int64_t param[]) {
    const StepWindow w = step_window(s);
    int64_t list[WINDOW_LISTS][STEP_SPATIAL];
    int axis[STEP_RANK] = {0, 1}, kept = 2;
    for (int i = 0; i < w.n; i++) {
        const bool one = view[0].dim[2 + i] == 1 && view[1].dim[2 + i] == 1 &&
                         view[2].dim[2 + i] == 1 && w.begin[i] == 0;
        if (one && kept + w.n - i > 3) continue;
        for (int l = 0; l < WINDOW_LISTS; l++) list[l][kept - 2] = param[window_param(s, l, i)];
        axis[kept++] = 2 + i;
    }
    for (int i = 0; i < s->nview; i++) view[i] = view_axes(&view[i], kept, axis);
    for (int l = 0; l < WINDOW_LISTS; l++)
        for (int i = 0; i < kept - 2; i++) param[window_param(s, l, i)] = list[l][i];
    s->nparam = window_params(s);
}
/* The normal form of the step, with its first nview views, of which there are at least three. It is
   written into view, which has room for them, and param, which has room for s->nparam numbers. */
static Step normal_form(const Step *s, int nview, View view[], int64_t param[]) {
    Step normal = *s;
    memcpy(view, s->view, (size_t)nview * sizeof *view);
    memcpy(param, s->param, (size_t)s->nparam * sizeof *param);
    normal.nview = nview, normal.view = view, normal.param = param;
    still_windows(&normal, param);
    trim(&normal, view, param);
    squeeze(&normal, view, param);
    return normal;
}
static bool build_whole(Build *b, int algorithm, Kernel *k) {
    switch (algorithm) {
    case CONV_DIRECT: return direct_conv_build(b, k);
    case CONV_TAPS: return taps_build(b, false, k);
    case CONV_TAPS_TOGETHER: return taps_build(b, true, k);
    case CONV_WINOGRAD: return winograd_build(b, k);
    case CONV_PANELS: return panels_conv_build(b, k);
    case CONV_DEPTHWISE: return depthwise_build(b, k);
    default: return dnn_conv_build(b, (DnnAlgorithm)algorithm, k);
    }
}
/* Cuts the step along the batch, or along the outermost axis for which the parts keep the layout
   that the algorithm needs. That is the channels (in whole groups) if each channel has a plane of
   its own, else the rows, in multiples of a tile for Winograd's algorithms. Our panels and Winograd
   tiles may also be cut along the channels. They are cut so first if there are more weights than
   pixels, because each part then reads only its own weights. */
static bool build_algorithm(Build *b, ConvAlgorithm algorithm, Kernel *k) {
    enum { VECTOR_CHANNELS = 16, PANEL_CHANNELS = 32 }; /* of the widest vectors; of their panels */
    const Step *s = b->step;
    const View *y = &s->view[0];
    const bool compare = algorithm <= CONV_DNN_WINOGRAD,
               tiles = algorithm == CONV_DNN_WINOGRAD || algorithm == CONV_WINOGRAD,
               panels = algorithm == CONV_PANELS || algorithm == CONV_WINOGRAD,
               planes = algorithm == CONV_TAPS || algorithm == CONV_TAPS_TOGETHER ||
                        algorithm == CONV_DIRECT ||
                        (algorithm == CONV_DNN_PLAIN && !view_is_channels_last(y) &&
                         !view_is_channels_last(&s->view[1])),
               heavy = view_count(&s->view[2]) > view_count(&s->view[1]);
    const int64_t group = s->param[CONV_GROUP], unit = group > 1 ? y->dim[1] / group
                                                       : panels  ? PANEL_CHANNELS
                                                       : compare || algorithm == CONV_TAPS_TOGETHER
                                                           ? VECTOR_CHANNELS
                                                           : 1;
    const Cut batch = {0, 1, compare}, channels = {1, unit, compare},
              rows = {view_spatial_axis(y), tiles ? WINOGRAD_TILE : 1, compare},
              any[] = {batch, planes ? channels : rows}, both[] = {batch, rows, channels},
              of_weights[] = {batch, channels, rows};
    return panels ? split_build(b, build_whole, (int)algorithm, heavy ? of_weights : both, 3, k)
                  : split_build(b, build_whole, (int)algorithm, any, 2, k);
}
/* Returns the number of algorithms that are offered. Plain loops take 50 times as long as oneDNN
   and are not offered for large steps if there is another algorithm. */
static int conv_choices(const Device *d, const Step *s) {
    enum { SMALL = 1 << 16, PARAMS = 1 + WINDOW_LISTS * STEP_SPATIAL + 1 };
    ConvAlgorithm algorithm[CONV_ALGORITHMS];
    View view[3];
    int64_t param[PARAMS];
    if (!conv_fits(s)) return 0;
    const Step normal = normal_form(s, 3, view, param);
    const int n = conv_algorithms(d, &normal, algorithm);
    const int64_t each = conv_terms(&normal);
    return n > 1 && view_count(&view[0]) > SMALL / (each ? each : 1) ? n - 1 : n;
}
/* Choice 0 always works: if an algorithm refuses the shape, the next one takes its place. */
static bool conv_build(Build *b, int choice, Kernel *k) {
    ConvAlgorithm algorithm[CONV_ALGORITHMS];
    const size_t before = b->workspace;
    const Step *whole = b->step;
    View *view = ARENA_NEW(b->arena, View, whole->nview);
    int64_t *param = ARENA_NEW(b->arena, int64_t, whole->nparam);
    const Step normal = normal_form(whole, whole->nview, view, param);
    const int n = conv_algorithms(b->device, &normal, algorithm);
    b->step = &normal;
    bool done = build_algorithm(b, algorithm[choice], k);
    for (int i = 1; i < n && choice == 0 && !done; i++) {
        b->workspace = before;
        done = build_algorithm(b, algorithm[i], k);
    }
    b->step = whole;
    return done;
}
const Maker conv_maker = {.choices = conv_choices, .build = conv_build};
