/* isomer_op_steps.h -- the parameters of S_OP steps (isomer_backend.h) of those operators for which
   some back end has a kernel. The operator writes them (Op.params); its reference kernel and the
   back ends read them.

   The first parameter is the number of outputs. If an operator works along one axis, the second
   parameter is this axis, counted from 0. A real parameter is stored as the bits of a double. */
#ifndef ISOMER_OP_STEPS_H
#define ISOMER_OP_STEPS_H
#include "isomer_backend.h"
#include <string.h>

enum { OP_PARAMS = 64 }; /* the most parameters of a step */
enum { OP_OUTPUTS, OP_AXIS };
/* Convert between real numbers and parameters. */
static inline double param_real(int64_t param) {
    double x;
    memcpy(&x, &param, sizeof x);
    return x;
}
static inline int64_t param_of_real(double x) {
    int64_t param;
    memcpy(&param, &x, sizeof param);
    return param;
}

/* argmax, argmin: 1 if the last of several equal elements counts, 0 for the first; 1 for argmin, 0
   for argmax. */
enum { ARGMAX_LAST = OP_AXIS + 1, ARGMAX_MINIMUM };

/* The views of `attention`: outputs, then inputs. plan_attention.c replaces two products and a
   softmax by the operator `sdpa`, whose y, q, k and v have the axes batch, head, place, number. Its
   other outputs have no elements, and its inputs end with the mask. Of `attention`, present keys
   and values that nothing reads, and that are only the new ones, have no places. */
enum {
    ATTENTION_Y,
    ATTENTION_PRESENT_KEY,
    ATTENTION_PRESENT_VALUE,
    ATTENTION_SCORES,
    ATTENTION_OUTPUTS,
    ATTENTION_Q = ATTENTION_OUTPUTS,
    ATTENTION_K,
    ATTENTION_V,
    ATTENTION_MASK,
    ATTENTION_PAST_KEY,
    SDPA_VIEWS = ATTENTION_PAST_KEY,
    ATTENTION_PAST_VALUE,
    ATTENTION_LENGTHS,
    ATTENTION_VIEWS
};
/* Whether the axes of a mask but the last one, which is compared with the keys, are 1 or those of
   the scores [batch, head, query, key]. */
static inline int attention_mask_fits(const View *mask, const View *scores) {
    for (int a = 0; a < mask->rank - 1; a++)
        if (mask->dim[a] != 1 && mask->dim[a] != scores->dim[a + 4 - mask->rank]) return 0;
    return 1;
}
#define SDPA "sdpa"
static inline int step_is_sdpa(const Step *s) {
    return s->kind == S_OP && s->op && strcmp(s->op, SDPA) == 0;
}
/* attention: the real factor of the scores, 0 for 1 / sqrt(size of a key); the real soft cap, 0 for
   none; 1 if causal; how many keys before and after its own position a query sees, -1 for all;
   which AttentionScores the fourth output is. sdpa: the same, then an Unseen. */
enum {
    ATTENTION_SCALE = 1,
    ATTENTION_CAP,
    ATTENTION_CAUSAL,
    ATTENTION_LEFT,
    ATTENTION_RIGHT,
    ATTENTION_SHOWN,
    ATTENTION_PARAMS,
    SDPA_UNSEEN = ATTENTION_PARAMS,
    SDPA_PARAMS
};
typedef enum AttentionScores {
    SHOW_NOTHING = -1, /* nothing reads the scores */
    SHOW_SCORES,
    SHOW_CAPPED,
    SHOW_BIASED,
    SHOW_WEIGHTS
} AttentionScores;
/* The result of a query that sees no key, or whose scores are NaN. ZERO: 0 if it sees no key;
   DIVIDED: the result of dividing by a sum of 0; MENDED: 0 in both cases. */
typedef enum Unseen { UNSEEN_ZERO, UNSEEN_DIVIDED, UNSEEN_MENDED } Unseen;

/* The views of the step "rotate", by which plan_rotate.c replaces two element-wise steps:
   f = p*c - q*d and s = q*c + p*d, element by element, of equal sizes. */
enum { ROTATE_F, ROTATE_S, ROTATE_P, ROTATE_Q, ROTATE_C, ROTATE_D, ROTATE_VIEWS };
#define ROTATE_STEP "rotate"
static inline int step_is_rotate(const Step *s) {
    return s->kind == S_OP && s->op && strcmp(s->op, ROTATE_STEP) == 0;
}

enum { BITSHIFT_RIGHT = 1 }; /* bitshift: 1 for a shift to the right */
/* cachewrite: 1 if positions wrap around at the end of the axis. */
enum { CACHE_CIRCULAR = OP_AXIS + 1 };
/* col2im, a step that its operator makes only for back ends that run it: for each spatial axis the
   elements of a block, the elements from one place to the next, those that the first block begins
   before the image, those from one element of a block to the next, and the number of places. */
enum { COL2IM_AXES = 1 };
enum {
    COL2IM_BLOCK,
    COL2IM_STRIDE,
    COL2IM_PAD,
    COL2IM_DILATION,
    COL2IM_PLACES,
    COL2IM_AXIS_PARAMS
};
static inline int step_is_col2im(const Step *s) {
    return s->kind == S_OP && s->op && strcmp(s->op, "col2im") == 0;
}
/* cumsum, cumprod: 1 if an element is not part of its own sum; 1 if it runs from the end. */
enum { CUM_EXCLUSIVE = OP_AXIS + 1, CUM_REVERSE };
/* dft: the length, 0 for that of the axis; 1 for the inverse; 1 if only one half of a symmetric
   spectrum is stored. */
enum { DFT_LENGTH = OP_AXIS + 1, DFT_INVERSE, DFT_ONESIDED };
/* stft: the elements from one frame to the next; the length of a frame. */
enum { STFT_HOP = 1, STFT_FRAME };
enum { GATHERND_BATCH = 1 }; /* gathernd: the number of batch axes */
/* gridsample: how to interpolate; what to read outside; 1 if the coordinates -1 and 1 are the
   centres of the first and last elements, 0 if they are the outer edges. */
enum { GRID_MODE = 1, GRID_OUTSIDE, GRID_ALIGN };
enum { GRID_LINEAR, GRID_NEAREST, GRID_CUBIC };
enum { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION };
/* maxplace: kernel, strides, pads and dilations as for an S_POOL, then 1 if places are counted
   column by column. Its windows are over view 2. */
static inline StepWindow maxplace_window(const Step *s) {
    Step pool = *s;
    pool.kind = S_POOL, pool.view = s->view + 1;
    return step_window(&pool);
}
static inline int maxplace_columns(const Step *s) { return s->param[s->nparam - 1] != 0; }
enum { MOD_TRUNCATED = 1 }; /* mod: 1 if the result has the sign of the dividend, not the divisor */
/* nms: the most boxes of a class to keep; the real thresholds of overlap and of scores; 1 if a box
   is given by its centre and size. */
enum { NMS_MOST = 1, NMS_OVERLAP, NMS_SCORE, NMS_CENTER };
enum { REVERSE_BATCH = 1, REVERSE_TIME }; /* reversesequence: the two axes */
/* rnn, gru, lstm: the direction; 1 if the batch is the first axis; 1 if the operator's own option
   (relu, linear_first or coupled) is set. */
enum { RECURRENT_DIRECTION = 1, RECURRENT_BATCH_FIRST, RECURRENT_OPTION };
enum { RECURRENT_FORWARD, RECURRENT_REVERSE, RECURRENT_BOTH };
/* roialign: samples of a bin along an axis, 0 for as many as its length; the real scale; 1 if
   coordinates are shifted by half an element; 1 for the maximum, 0 for the mean. */
enum { ROI_SAMPLES = 1, ROI_SCALE, ROI_ALIGN, ROI_MODE };
/* scatterelements, scatteradd; scatternd: how an update changes an element. */
enum { SCATTER_HOW = OP_AXIS + 1 };
enum { SCATTERND_HOW = 1 };
enum { SCATTER_NONE, SCATTER_ADD, SCATTER_MUL, SCATTER_MAX, SCATTER_MIN };
enum { THRESHOLD_ALPHA = 1 };            /* thresholdedrelu: a real number */
enum { SHRINK_BIAS = 1, SHRINK_LAMBDA }; /* shrink: real numbers */
enum { TOPK_LARGEST = OP_AXIS + 1 };     /* topk: 1 for the greatest elements, 0 for the least */
enum { TREES_AVERAGE = 1 };              /* trees: 1 for the mean over the trees, 0 for the sum */
enum { UNIQUE_SORTED = OP_AXIS + 1 };    /* unique: 1 for ascending order */
#endif
