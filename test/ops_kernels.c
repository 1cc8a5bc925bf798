/* ops_kernels.c -- tests operators that have a reference kernel or a definition, and a faster
   algorithm on the CPU. Steps of random types, sizes, layouts and attributes run with and without
   special instruction sets and are compared with the reference kernel or the definition's loop
   program; with three threads the results must have the same bytes. */
#include "test/shared/kernel_check.h"

/* ---- quantized numbers */
static const DType narrow[] = {DT_UINT8, DT_INT8, DT_UINT16, DT_INT16};
/* Draws multiples of half a step, so that there are ties, and sometimes a very large number, an
   infinity or NaN. */
static double tie(Drawn *t, double low, double high) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, 1e30, -1e30, 0, -0.0};
    if (!draw(t, 0, 9)) return odd[draw(t, 0, 6)];
    return draw(t, 0, 1) ? (double)draw(t, -600, 600) / 2 * 0.25 : real(t, low, high);
}
/* Draws the size of the scales: one number, one for each place of an axis, or one for each block of
   an axis. Returns their rank. */
static int parameters(Drawn *t, int rank, const int64_t dim[], int64_t size[]) {
    const int how = rank ? (int)draw(t, 0, 2) : 0, axis = how ? (int)draw(t, 0, rank - 1) : 0;
    const int64_t block = draw(t, 0, 2) ? draw(t, 1, 7) : draw(t, 16, 40);
    if (how == 0) return size[0] = 1, (int)draw(t, 0, 1); /* x may not have that axis */
    attribute(t, "axis", "%d", axis - (draw(t, 0, 1) ? rank : 0));
    if (how == 1) return size[0] = dim[axis], 1;
    attribute(t, "block", "%d", (int)block);
    memcpy(size, dim, (size_t)rank * sizeof *size);
    size[axis] = (dim[axis] + block - 1) / block;
    return rank;
}
static double quarter(Drawn *t, double low, double high) {
    return draw(t, 0, 1) ? 0.25 : real(t, low, high);
}
static void draw_quantize(Drawn *t) {
    int64_t dim[STEP_RANK], size[STEP_RANK];
    const DType to = narrow[draw(t, 0, 3)], from = draw(t, 0, 4) ? DT_FLOAT : DT_INT32;
    const int rank = sizes(t, 0, 4, dim), n = parameters(t, rank, dim, size);
    attribute(t, "to", "%s", dtype_name(to));
    fill(t, input(t, from, rank, dim), from == DT_FLOAT ? tie : whole, -70, 70);
    fill(t, input(t, DT_FLOAT, n, size), quarter, 0.01, 2);
    if (draw(t, 0, 2)) wholes(t, to, n, size, dtype_class(to) == 'U' ? 0 : -100, 100);
}
static void draw_dequantize(Drawn *t) {
    int64_t dim[STEP_RANK], size[STEP_RANK];
    const DType from = draw(t, 0, 4) ? narrow[draw(t, 0, 3)] : DT_INT32;
    const int rank = sizes(t, 0, 4, dim), n = parameters(t, rank, dim, size);
    const double low = dtype_class(from) == 'U' ? 0 : -120;
    wholes(t, from, rank, dim, from == DT_INT32 ? -2e9 : low, from == DT_INT32 ? 2e9 : 120);
    reals(t, DT_FLOAT, n, size, 0.01, 2);
    if (draw(t, 0, 2) && from != DT_INT32) wholes(t, from, n, size, low, 100);
}
static void draw_dynamic(Drawn *t) {
    int64_t dim[STEP_RANK];
    const int rank = sizes(t, 0, 4, dim);
    const double low = draw(t, 0, 1) ? -3 : 0, high = draw(t, 0, 2) ? 5 : 0;
    t->nout = 3;
    reals(t, DT_FLOAT, rank, dim, low, high);
}
static void draw_where(Drawn *t) {
    static const DType types[] = {DT_FLOAT, DT_DOUBLE, DT_INT64, DT_UINT8, DT_FLOAT16, DT_BOOL};
    int64_t dim[STEP_RANK];
    const DType type = types[draw(t, 0, 5)];
    const int rank = sizes(t, 1, 4, dim);
    wholes(t, DT_BOOL, rank, dim, 0, 1);
    for (int k = 0; k < 2; k++) {
        const int drop = (int)draw(t, 0, rank);
        fill(t, input(t, type, rank - drop, dim + drop), dtype_class(type) == 'F' ? tie : whole, 0,
             9);
    }
}

/* ---- recurrent operators: directions, batches, lengths, optional inputs */
static void maybe(Drawn *t, int rank, const int64_t dim[]) {
    if (draw(t, 0, 2)) reals(t, DT_FLOAT, rank, dim, -0.5, 0.5);
    else left_out(t);
}
/* Gives the weights [d, columns, h] values that quantization leaves: each column has a scale and a
   zero point. The weights of the last hidden unit, or input, are 0. */
static void quantize_columns(Drawn *t, int k, double scale) {
    const View *v = &t->view[k];
    int64_t i[STEP_RANK];
    float step = 0, zero = 0;
    for (bool more = kernel_first(v, i); more; more = kernel_next(v, i)) {
        if (i[2] == 0)
            step = (float)real(t, 0.5 * scale, scale) / 127, zero = (float)(3 * draw(t, 0, 1));
        const float level = i[2] == v->dim[2] - 1 ? zero : (float)draw(t, -124, 124);
        element_set_real((DType)v->dtype, t->data[k], kernel_at(v, i),
                         (double)((level - zero) * step));
    }
}
/* Inputs, or initial states [d, batch, h] in any order of the first two axes: the last of a row is
   far greater than the others. */
static void draw_outliers(Drawn *t, int k) {
    static const double far[] = {1, 1e8, -1e8, 1e30};
    const View *v = &t->view[k];
    int64_t i[STEP_RANK];
    if (v->rank < 0) return;
    for (bool more = kernel_first(v, i); more; more = kernel_next(v, i))
        if (i[2] == v->dim[2] - 1)
            element_set_real((DType)v->dtype, t->data[k], kernel_at(v, i), far[draw(t, 0, 3)]);
}
static void draw_recurrent(Drawn *t, int64_t gates) {
    static const int64_t hiddens[] = {1, 3, 16, 20, 64, 70}, many[] = {256, 256, 263},
                         inputs[] = {64, 70, 128};
    const bool quantized = draw(t, 0, 4) == 0;
    static const char *const ways[] = {"forward", "reverse", "bidirectional"};
    const int64_t way = draw(t, 0, 2), d = 1 + (way == 2), time = draw(t, 1, 6),
                  batch = !quantized && draw(t, 0, 1) ? draw(t, 1, 9) : 1,
                  in = quantized && draw(t, 0, 2) ? inputs[draw(t, 0, 2)] : draw(t, 1, 40),
                  h = quantized ? many[draw(t, 0, 2)] : hiddens[draw(t, 0, 5)],
                  first = draw(t, 0, 1);
    const double scale = 1.5 / sqrt((double)(h > in ? h : in));
    t->nout = 2 + (gates == 4);
    t->tolerance = 2e-5;
    attribute(t, "direction", "%s", ways[way]);
    attribute(t, "hidden", "%d", (int)h);
    attribute(t, "batch_first", first ? "yes" : "no");
    if (draw(t, 0, 1))
        attribute(t,
                  gates == 1   ? "activation"
                  : gates == 3 ? "linear_first"
                               : "coupled",
                  "%s", gates == 1 ? "relu" : "yes");
    reals(t, DT_FLOAT, 3, (int64_t[]){first ? batch : time, first ? time : batch, in}, -1, 1);
    reals(t, DT_FLOAT, 3, (int64_t[]){d, gates * h, in}, -scale, scale);
    reals(t, DT_FLOAT, 3, (int64_t[]){d, gates * h, h}, -scale, scale);
    for (int k = 1; quantized && k <= 2; k++) quantize_columns(t, k, scale), t->known |= 1 << k;
    if (quantized && draw(t, 0, 1)) draw_outliers(t, 0);
    maybe(t, 2, (int64_t[]){d, 2 * gates * h});
    if (draw(t, 0, 1)) wholes(t, DT_INT32, 1, &batch, 0, (double)time);
    else left_out(t);
    for (int k = 0; k < 1 + (gates == 4); k++) {
        maybe(t, 3, (int64_t[]){first ? batch : d, first ? d : batch, h});
        if (quantized && k == 0) draw_outliers(t, t->nin - 1);
    }
    if (gates == 4) maybe(t, 2, (int64_t[]){d, 3 * h});
}
static void draw_rnn(Drawn *t) { draw_recurrent(t, 1); }
static void draw_gru(Drawn *t) { draw_recurrent(t, 3); }
static void draw_lstm(Drawn *t) { draw_recurrent(t, 4); }

/* ---- attention: heads as an axis of their own or joined with the numbers, shared keys, masks of
   every rank */
static void draw_mask(Drawn *t, const int64_t size[4]) {
    const int rank = (int)draw(t, 1, 4);
    int64_t dim[4];
    for (int k = 0; k < rank; k++) {
        dim[k] = size[4 - rank + k];
        if (k < rank - 1 && draw(t, 0, 2) == 0) dim[k] = 1;
    }
    if (draw(t, 0, 3) == 0 && dim[rank - 1] > 1) dim[rank - 1]--;
    if (draw(t, 0, 1)) wholes(t, DT_BOOL, rank, dim, 0, 1);
    else reals(t, DT_FLOAT, rank, dim, -2, 2);
}
static void draw_heads(Drawn *t, bool beside, int64_t b, int64_t h, int64_t s, int64_t n) {
    if (beside) reals(t, DT_FLOAT, 3, (int64_t[]){b, s, h * n}, -1, 1);
    else reals(t, DT_FLOAT, 4, (int64_t[]){b, h, s, n}, -1, 1);
}
static void draw_attention(Drawn *t) {
    const int64_t b = draw(t, 1, 3), g = draw(t, 1, 3), h = g * draw(t, 1, 2),
                  s = draw(t, 0, 4) ? draw(t, 1, 9) : 150, n = draw(t, 0, 9) ? draw(t, 1, 20) : 900,
                  d = draw(t, 1, 20), e = draw(t, 1, 20),
                  before = draw(t, 0, 2) ? 0 : draw(t, 1, 9);
    const bool beside = draw(t, 0, 1), lengths = !before && draw(t, 0, 2) == 0;
    t->nout = 4, t->tolerance = 1e-5;
    if (beside) attribute(t, "heads", "%d", (int)h), attribute(t, "groups", "%d", (int)g);
    attribute(t, "scale", draw(t, 0, 1) ? "0" : "1/3");
    attribute(t, "cap", draw(t, 0, 2) ? "0" : "2");
    attribute(t, "causal", draw(t, 0, 1) ? "no" : "yes");
    attribute(t, "left", "%d", draw(t, 0, 2) ? -1 : (int)draw(t, 0, 5));
    attribute(t, "right", "%d", draw(t, 0, 2) ? -1 : (int)draw(t, 0, 5));
    attribute(t, "shown", "%d", (int)draw(t, 0, 3));
    draw_heads(t, beside, b, h, s, d);
    draw_heads(t, beside, b, g, n, d);
    draw_heads(t, beside, b, g, n, e);
    if (draw(t, 0, 1)) draw_mask(t, (int64_t[]){b, h, s, n + before});
    else left_out(t);
    for (int k = 0; k < 2; k++)
        if (before) reals(t, DT_FLOAT, 4, (int64_t[]){b, g, before, k ? e : d}, -1, 1);
        else left_out(t);
    if (lengths) wholes(t, DT_INT64, 1, &b, 0, (double)n);
}

/* ---- elements chosen by indices */
static const DType moved[] = {DT_FLOAT, DT_INT64, DT_INT32, DT_UINT8, DT_FLOAT16, DT_DOUBLE};
static void indices(Drawn *t, int rank, const int64_t dim[], int64_t n) {
    wholes(t, draw(t, 0, 2) ? DT_INT64 : DT_INT32, rank, dim, (double)-n, (double)(n - 1));
}
static int some_sizes(Drawn *t, int least, int most, int64_t dim[]) {
    const int rank = sizes(t, least, most, dim);
    for (int a = 0; a < rank; a++) dim[a] += dim[a] == 0;
    return rank;
}
static void draw_gather(Drawn *t) {
    int64_t x[STEP_RANK], i[STEP_RANK];
    const int rank = some_sizes(t, 1, 4, x), axis = (int)draw(t, 0, rank - 1),
              n = sizes(t, 0, 3, i);
    attribute(t, "axis", "%d", axis);
    wholes(t, moved[draw(t, 0, 5)], rank, x, 0, 99);
    indices(t, n, i, x[axis]);
}
/* Draws the sizes of an index: as x has them or less, except on one axis, which is returned. */
static int index_of(Drawn *t, int rank, const int64_t x[], int64_t i[]) {
    const int axis = (int)draw(t, 0, rank - 1);
    for (int a = 0; a < rank; a++) i[a] = draw(t, 0, a == axis ? 9 : x[a]);
    attribute(t, "axis", "%d", axis);
    return axis;
}
static void draw_elements(Drawn *t) {
    int64_t x[STEP_RANK], i[STEP_RANK];
    const int rank = some_sizes(t, 1, 4, x), axis = index_of(t, rank, x, i);
    wholes(t, moved[draw(t, 0, 5)], rank, x, 0, 99);
    indices(t, rank, i, x[axis]);
}
static int64_t least_of(const int64_t dim[], int n) {
    int64_t least = n ? INT64_MAX : 1;
    for (int k = 0; k < n; k++) least = dim[k] < least ? dim[k] : least;
    return least;
}
static void draw_nd(Drawn *t) {
    int64_t x[STEP_RANK], i[STEP_RANK];
    const int rank = some_sizes(t, 1, 4, x), batch = (int)draw(t, 0, rank - 1) / 2,
              q = (int)draw(t, 0, rank - batch), places = batch + (int)draw(t, 0, 2);
    for (int a = 0; a < places; a++) i[a] = a < batch ? x[a] : draw(t, 1, 5);
    i[places] = q;
    attribute(t, "batch", "%d", batch);
    wholes(t, moved[draw(t, 0, 5)], rank, x, 0, 99);
    indices(t, places + 1, i, least_of(x + batch, q));
}
static void draw_reverse(Drawn *t) {
    int64_t x[STEP_RANK];
    const int rank = some_sizes(t, 2, 4, x), batch = (int)draw(t, 0, 1);
    attribute(t, "batch", "%d", batch);
    attribute(t, "time", "%d", !batch);
    wholes(t, moved[draw(t, 0, 5)], rank, x, 0, 99);
    wholes(t, DT_INT64, 1, &x[batch], 0, (double)x[!batch]);
}
static void draw_reduction(Drawn *t) { attribute(t, "reduction", draw(t, 0, 1) ? "mul" : "none"); }
/* Draws small integers, so that sums are exact. */
static void draw_scatter_nd_add(Drawn *t) {
    int64_t x[STEP_RANK], i[STEP_RANK], u[2 * STEP_RANK];
    const DType type = moved[draw(t, 0, 5)];
    const int rank = some_sizes(t, 1, 4, x), q = (int)draw(t, 0, rank), places = (int)draw(t, 0, 2);
    for (int a = 0; a < places; a++) i[a] = u[a] = draw(t, 0, 6);
    for (int a = q; a < rank; a++) u[places + a - q] = x[a];
    i[places] = q;
    wholes(t, type, rank, x, 0, 3);
    indices(t, places + 1, i, least_of(x, q));
    wholes(t, type, places + rank - q, u, 0, 3);
}
static void draw_scatter_nd(Drawn *t) {
    draw_reduction(t);
    draw_scatter_nd_add(t);
}
static void draw_scatter_add(Drawn *t) {
    int64_t x[STEP_RANK], i[STEP_RANK];
    const DType type = moved[draw(t, 0, 5)];
    const int rank = some_sizes(t, 1, 4, x), axis = index_of(t, rank, x, i);
    if (!draw(t, 0, 9)) i[draw(t, 0, rank - 1)] = 0;
    wholes(t, type, rank, x, 0, 3);
    indices(t, rank, i, x[axis]);
    wholes(t, type, rank, i, 0, 3);
}
/* Draws positions inside and outside the image, more positions than a block holds, and more
   adjacent channels than are summed at a time. */
static void draw_grid_sample(Drawn *t) {
    static const char *const modes[] = {"linear", "nearest", "cubic"}, *const outside[] = {
                                                                           "zeros", "border",
                                                                           "reflection"};
    const int64_t b = draw(t, 1, 3), rows = draw(t, 0, 3) ? draw(t, 1, 5) : 90,
                  channels = draw(t, 0, 2) ? draw(t, 1, 5) : draw(t, 15, 40);
    attribute(t, "mode", modes[draw(t, 0, 2)]);
    attribute(t, "outside", outside[draw(t, 0, 2)]);
    attribute(t, "align", draw(t, 0, 1) ? "no" : "yes");
    t->tolerance = 1e-5;
    reals(t, DT_FLOAT, 4, (int64_t[]){b, channels, draw(t, 1, 9), draw(t, 1, 9)}, -1, 1);
    reals(t, DT_FLOAT, 4, (int64_t[]){b, rows, draw(t, 1, 7), 2}, -1.4, 1.4);
}
/* Draws boxes, some of them empty or reaching far outside the image. */
static void draw_roi_align(Drawn *t) {
    static const DType floats[] = {DT_FLOAT, DT_DOUBLE, DT_FLOAT16};
    const bool many = draw(t, 0, 1); /* many channels and small images */
    const DType type = floats[many ? 0 : draw(t, 0, 2)];
    const int64_t images = draw(t, 1, 3), boxes = draw(t, 0, 6),
                  channels = many ? draw(t, 8, 40) : draw(t, 1, 4),
                  h = draw(t, 0, 9) ? draw(t, 1, many ? 12 : 40) : 0,
                  w = draw(t, 1, many ? 12 : 70);
    attribute(t, "height", "%d", (int)draw(t, 1, 8));
    attribute(t, "width", "%d", (int)draw(t, 1, 8));
    attribute(t, "samples", "%d", (int)draw(t, 0, 3));
    attribute(t, "scale", draw(t, 0, 1) ? "1" : "1/2");
    attribute(t, "align", draw(t, 0, 1) ? "half_pixel" : "output_half_pixel");
    attribute(t, "mode", draw(t, 0, 1) ? "avg" : "max");
    t->tolerance = type == DT_FLOAT16 ? 2e-3 : type == DT_FLOAT ? 1e-5 : 1e-12;
    reals(t, type, 4, (int64_t[]){images, channels, h, w}, -1, 1);
    reals(t, type, 2, (int64_t[]){boxes, 4}, -10, many ? 20 : 60);
    wholes(t, draw(t, 0, 1) ? DT_INT64 : DT_INT32, 1, &boxes, 0, (double)images - 1);
}
static void draw_cache(Drawn *t) {
    int64_t x[STEP_RANK], u[STEP_RANK];
    const int rank = some_sizes(t, 2, 4, x), axis = (int)draw(t, 1, rank - 1);
    const DType type = moved[draw(t, 0, 5)];
    const bool circular = draw(t, 0, 1);
    memcpy(u, x, sizeof u);
    u[axis] = draw(t, 0, x[axis]);
    attribute(t, "axis", "%d", axis);
    attribute(t, "mode", circular ? "circular" : "linear");
    wholes(t, type, rank, x, 0, 99);
    wholes(t, type, rank, u, 100, 199);
    if (draw(t, 0, 3))
        wholes(t, draw(t, 0, 1) ? DT_INT64 : DT_INT32, 1, x, 0,
               circular ? 20 : (double)(x[axis] - u[axis]));
}
static void draw_scatter_elements(Drawn *t) {
    draw_reduction(t);
    draw_scatter_add(t);
}

/* ---- lines */
static void draw_cumulated(Drawn *t) {
    static const DType types[] = {DT_FLOAT,  DT_DOUBLE, DT_FLOAT16, DT_BFLOAT16, DT_INT64, DT_INT32,
                                  DT_UINT32, DT_INT16,  DT_UINT16,  DT_INT8,     DT_UINT8};
    int64_t x[STEP_RANK];
    const int rank = some_sizes(t, 1, 4, x);
    const bool wide = rank > 1 && draw(t, 0, 3) == 0; /* several rounds or pieces of columns */
    const DType type = types[draw(t, 0, 10)];
    if (wide) x[rank - 1] = draw(t, 0, 1) ? draw(t, 100, 2300) : draw(t, 5, 70);
    attribute(t, "axis", "%d", (int)draw(t, 0, wide ? rank - 2 : rank - 1));
    attribute(t, "exclusive", draw(t, 0, 1) ? "yes" : "no");
    attribute(t, "reverse", draw(t, 0, 1) ? "yes" : "no");
    fill(t, input(t, type, rank, x), dtype_class(type) == 'F' ? real : whole, 0, 2);
}

/* ---- samples */
/* Draws the rank and the sizes of x and the attributes common to resize and resample; only the
   first `most` coordinate modes occur. */
static int draw_scaled(Drawn *t, int most, int64_t x[]) {
    static const char *const coordinates[] = {"half_pixel", "asymmetric", "align_corners",
                                              "pytorch_half_pixel", "half_pixel_symmetric"},
                             *const roundings[] = {"round_prefer_floor", "round_prefer_ceil",
                                                   "floor", "ceil"};
    const int rank = some_sizes(t, 1, 4, x);
    int64_t y[STEP_RANK];
    for (int a = 0; a < rank; a++) y[a] = draw(t, 0, 2) ? draw(t, 1, 12) : x[a];
    numbers(t, "sizes", rank, y);
    attribute(t, "coordinate", "%s", coordinates[draw(t, 0, most - 1)]);
    attribute(t, "rounding", "%s", roundings[draw(t, 0, 3)]);
    return rank;
}
static void draw_resize(Drawn *t) {
    static const DType mixed[] = {DT_FLOAT, DT_DOUBLE, DT_FLOAT16, DT_UINT8, DT_INT8, DT_INT32};
    int64_t x[STEP_RANK];
    const int rank = draw_scaled(t, 4, x), linear = (int)draw(t, 0, 1);
    const DType type = linear ? mixed[draw(t, 0, 5)] : moved[draw(t, 0, 5)];
    attribute(t, "mode", linear ? "linear" : "nearest");
    t->tolerance = !linear ? 0 : type == DT_FLOAT16 ? 1e-3 : 1e-6;
    fill(t, input(t, type, rank, x), linear ? real : whole, 0, 9);
}
static void draw_resample(Drawn *t) {
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const DType floats[] = {DT_FLOAT, DT_DOUBLE, DT_FLOAT16};
    int64_t x[STEP_RANK];
    const int rank = draw_scaled(t, 5, x), mode = (int)draw(t, 0, 2);
    const DType type = mode ? floats[draw(t, 0, 2)] : moved[draw(t, 0, 5)];
    attribute(t, "mode", "%s", modes[mode]);
    attribute(t, "antialias", draw(t, 0, 1) ? "yes" : "no");
    attribute(t, "exclude", draw(t, 0, 1) ? "yes" : "no");
    t->tolerance = !mode ? 0 : type == DT_FLOAT16 ? 2e-3 : 2e-6;
    fill(t, input(t, type, rank, x), mode ? real : whole, 0, 9);
}
/* Draws boxes that often overlap, with scores that are often equal. */
static void draw_boxes(Drawn *t) {
    const int64_t images = draw(t, 1, 2), classes = draw(t, 1, 3), n = draw(t, 1, 40);
    attribute(t, "kept", "%d", (int)(images * classes * n));
    attribute(t, "most", "%d", (int)draw(t, 0, n));
    attribute(t, "iou_threshold", "%d/10", (int)draw(t, 0, 8));
    attribute(t, "score_threshold", "%d", (int)draw(t, 0, 5));
    attribute(t, "center", draw(t, 0, 1) ? "yes" : "no");
    if (draw(t, 0, 1)) reals(t, DT_FLOAT, 3, (int64_t[]){images, n, 4}, 0, 9);
    else wholes(t, DT_FLOAT, 3, (int64_t[]){images, n, 4}, 0, 9);
    wholes(t, DT_FLOAT, 3, (int64_t[]){images, classes, n}, 0, 9);
}
static void draw_mirror(Drawn *t) {
    static const char *const modes[] = {"edge", "reflect", "wrap"};
    int64_t x[STEP_RANK];
    const int rank = some_sizes(t, 1, 4, x);
    int64_t pads[2 * STEP_RANK];
    for (int a = 0; a < 2 * rank; a++) pads[a] = draw(t, x[a % rank] > 3 ? -1 : 0, 3);
    numbers(t, "pads", 2 * rank, pads);
    attribute(t, "mode", "%s", modes[draw(t, 0, 2)]);
    wholes(t, moved[draw(t, 0, 5)], rank, x, 0, 99);
}

/* Draws indices, some of them out of range. */
static void draw_one_hot(Drawn *t) {
    int64_t x[STEP_RANK];
    const DType index = draw(t, 0, 2) ? DT_INT64 : draw(t, 0, 1) ? DT_INT32 : DT_FLOAT;
    const int rank = sizes(t, 0, 4, x), depth = (int)draw(t, 1, 60);
    attribute(t, "axis", "%d", (int)draw(t, 0, rank));
    attribute(t, "depth", "%d", depth);
    wholes(t, index, rank, x, -depth - 2, depth + 1);
    wholes(t, moved[draw(t, 0, 5)], 1, (int64_t[]){2}, 0, draw(t, 0, 1) ? 99 : 1);
}

/* ---- definitions that only move elements: ranges of rows */
static void draw_trilu(Drawn *t) {
    int64_t x[STEP_RANK];
    const int rank = some_sizes(t, 2, 4, x);
    attribute(t, "k", "%d", (int)draw(t, -8, 8));
    attribute(t, "upper", draw(t, 0, 1) ? "yes" : "no");
    wholes(t, moved[draw(t, 0, 5)], rank, x, 1, 99);
}
static void draw_band(Drawn *t) {
    static const char *const types[] = {"F", "I64", "U8", "F16", "F64", "B"};
    attribute(t, "n", "%d", (int)draw(t, 1, 40));
    attribute(t, "below", "%d", (int)draw(t, 0, 20));
    attribute(t, "above", "%d", (int)draw(t, 0, 20));
    attribute(t, "dtype", "%s", types[draw(t, 0, 5)]);
}

/* Draws lengths with small factors, with larger ones and primes, and more lines than a block
   holds. */
static void draw_dft(Drawn *t) {
    static const int lengths[] = {1, 2, 4, 6, 15, 16, 30, 44, 49, 62, 64, 67, 74, 94, 120, 256};
    static const DType floats[] = {DT_FLOAT, DT_DOUBLE, DT_FLOAT16};
    const DType type = floats[draw(t, 0, 2)];
    const bool inverse = draw(t, 0, 1), onesided = draw(t, 0, 1);
    int64_t x[STEP_RANK];
    const int rank = 1 + some_sizes(t, 1, 3, x), axis = (int)draw(t, 0, rank - 2),
              n = lengths[draw(t, 0, 15)];
    x[axis] = inverse && onesided ? n / 2 + 1 : n, x[rank - 1] = draw(t, 1, 2);
    if (draw(t, 0, 3) == 0) x[axis] += draw(t, 0, 4);
    attribute(t, "axis", "%d", axis);
    attribute(t, "length", "%d", draw(t, 0, 1) || x[axis] < 2 ? n : 0);
    attribute(t, "inverse", inverse ? "yes" : "no");
    attribute(t, "onesided", onesided ? "yes" : "no");
    t->tolerance = type == DT_FLOAT16 ? 2e-3 : type == DT_FLOAT ? 1e-6 : 1e-11;
    reals(t, type, rank, x, -1, 1);
}

/* Draws frames that overlap or leave gaps, with and without a window, of real and complex
   numbers. */
static void draw_stft(Drawn *t) {
    static const int lengths[] = {1, 2, 5, 6, 16, 30, 62, 67, 94, 128};
    const int n = lengths[draw(t, 0, 9)], parts = (int)draw(t, 0, 2), hop = (int)draw(t, 1, n + 3);
    const int64_t x[3] = {draw(t, 1, 3), n + draw(t, 0, 20) * hop + draw(t, 0, hop - 1), parts};
    const bool double_ = draw(t, 0, 1), window = draw(t, 0, 3) > 0;
    const DType type = double_ ? DT_DOUBLE : DT_FLOAT;
    attribute(t, "hop", "%d", hop);
    attribute(t, "length", "%d", window ? 0 : n);
    attribute(t, "onesided", parts < 2 && draw(t, 0, 1) ? "yes" : "no");
    t->tolerance = double_ ? 1e-11 : 1e-6;
    reals(t, type, parts ? 3 : 2, x, -1, 1);
    if (window) reals(t, type, 1, (const int64_t[]){n}, -1, 1);
}

/* Draws matrices, some of them singular, smaller than a vector or several vectors wide. */
static void draw_det(Drawn *t) {
    static const DType floats[] = {DT_FLOAT, DT_DOUBLE, DT_FLOAT16};
    const DType type = floats[draw(t, 0, 2)];
    int64_t x[STEP_RANK];
    const int rank = 2 + sizes(t, 0, 2, x);
    x[rank - 1] = x[rank - 2] = draw(t, 0, 3) ? draw(t, 1, 9) : draw(t, 10, 40);
    t->tolerance = type == DT_FLOAT16 ? 1e-3 : type == DT_FLOAT ? 1e-6 : 1e-11;
    fill(t, input(t, type, rank, x), draw(t, 0, 2) ? real : whole, -1, 1);
}

static const Family families[] = {
    {"det", draw_det, false},
    {"resize", draw_resize, false},
    {"resample", draw_resample, false},
    {"padmirror", draw_mirror, false},
    {"onehot", draw_one_hot, false},
    {"nms", draw_boxes, false},
    {"trilu", draw_trilu, true},
    {"band", draw_band, true},
    {"dft", draw_dft, false},
    {"stft", draw_stft, false},
    {"cumsum", draw_cumulated, false},
    {"cumprod", draw_cumulated, false},
    {"attention", draw_attention, false},
    {"gather", draw_gather, false},
    {"gatherelements", draw_elements, false},
    {"gathernd", draw_nd, false},
    {"reversesequence", draw_reverse, false},
    {"scatternd", draw_scatter_nd, false},
    {"scatterndadd", draw_scatter_nd_add, false},
    {"scatterndmax", draw_scatter_nd_add, false},
    {"scatterndmin", draw_scatter_nd_add, false},
    {"scatterelements", draw_scatter_elements, false},
    {"cachewrite", draw_cache, false},
    {"gridsample", draw_grid_sample, false},
    {"roialign", draw_roi_align, false},
    {"scatteradd", draw_scatter_add, false},
    {"scattermax", draw_scatter_add, false},
    {"scattermin", draw_scatter_add, false},
    {"rnn", draw_rnn, false},
    {"gru", draw_gru, false},
    {"lstm", draw_lstm, false},
    {"quantize", draw_quantize, false},
    {"dequantize", draw_dequantize, false},
    {"dynamicquantize", draw_dynamic, false},
    {"where", draw_where, false},
    {0},
};

/* ---- loops with a fault */
static void short_scan(const Cumulation *s) {
    Cumulation less = *s;
    less.n -= less.n > 9;
    table[0]->cumulate[0][DT_FLOAT](&less);
}
static void never_exclusive(const Cumulation *s) {
    Cumulation other = *s;
    other.exclusive = false;
    table[0]->cumulate[1][DT_INT64](&other);
}
static double without_sign(double *matrix, double *factor, int64_t n, int64_t stride) {
    return fabs(table[0]->determinant(matrix, factor, n, stride));
}
static void short_peaks(float *y, const float *x, const int64_t offset[], const float w[],
                        const float least[], int64_t taps, float start, int64_t n) {
    table[0]->tap_peaks(y, x, offset, w, least, taps - (taps > 1), start, n);
}
static void short_sums(float *y, const float *x, const int64_t offset[], const float w[],
                       int64_t taps, int64_t n) {
    table[0]->taps(y, x, offset, w, taps - (taps > 1), n);
}
static void few_rows(const ChosenRows *c) {
    ChosenRows less = *c;
    less.rows--;
    table[0]->move_chosen(&less);
}
static void short_floats(float *y, const void *x, const ByteRows *b) {
    ByteRows less = *b;
    less.n--;
    table[0]->from_bytes[0](y, x, &less);
}
static void never_aligned(const GridReads *r) {
    GridReads other = *r;
    other.align = false;
    table[0]->grid_reads(&other);
}
static void no_levels(const LevelPanel *p, int64_t rows) { (void)p, (void)rows; }
static void no_sum(const LevelPanel *p, const int32_t *s, int64_t n) { (void)p, (void)s, (void)n; }
static void wrong_loops_are_caught(void **state) {
    static const Family sums = {"cumsum", draw_cumulated, false},
                        products = {"cumprod", draw_cumulated, false},
                        determinants = {"det", draw_det, false},
                        boxes = {"roialign", draw_roi_align, false},
                        states = {"lstm", draw_lstm, false}, rows = {"gather", draw_gather, false},
                        updates = {"scatternd", draw_scatter_nd, false},
                        images = {"gridsample", draw_grid_sample, false},
                        floats = {"dequantize", draw_dequantize, false};
    (void)state;
    Simd wrong = *table[0];
    assert_int_equal(differences(&sums, &wrong) + differences(&products, &wrong) +
                         differences(&determinants, &wrong),
                     0);
    wrong.tap_peaks = short_peaks;
    assert_true(differences(&boxes, &wrong) > 3);
    wrong = *table[0], wrong.taps = short_sums;
    assert_true(differences(&boxes, &wrong) > 10);
    wrong = *table[0], wrong.cumulate[0][DT_FLOAT] = short_scan;
    assert_true(differences(&sums, &wrong) > 3);
    wrong = *table[0], wrong.cumulate[1][DT_INT64] = never_exclusive;
    assert_true(differences(&products, &wrong) > 3);
    wrong = *table[0], wrong.move_chosen = few_rows;
    assert_true(differences(&rows, &wrong) > 10 && differences(&updates, &wrong) > 10);
    wrong = *table[0], wrong.from_bytes[0] = short_floats;
    assert_true(differences(&floats, &wrong) > 3);
    wrong = *table[0], wrong.grid_reads = never_aligned;
    assert_true(differences(&images, &wrong) > 10);
    wrong = *table[0], wrong.levels[1] = no_levels;
    assert_true(differences(&states, &wrong) > 3);
    wrong = *table[tables - 1], wrong.add_planes = no_sum;
    assert_true(!processor_has_tiles() || differences(&states, &wrong) > 0);
    wrong = *table[tables - 1];
    if (wrong.levels_by_bytes && processor_adds_four()) {
        wrong.levels_by_bytes = no_levels;
        assert_true(differences(&states, &wrong) > 3);
    }
    wrong = *table[0], wrong.determinant = without_sign;
    assert_true(differences(&determinants, &wrong) > 30);
}
int main(void) {
    const struct CMUnitTest tests[] = {FAMILIES_TEST(families),
                                       cmocka_unit_test(wrong_loops_are_caught)};
    return cmocka_run_group_tests(tests, open_devices, close_devices);
}
