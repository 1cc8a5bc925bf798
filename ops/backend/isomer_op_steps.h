/* isomer_op_steps.h -- the parameters of S_OP steps (isomer_backend.h), for the operators that some
   back end has a kernel for. The operator writes them (Op.params); its reference kernel and the
   back ends read them.

   The first parameter is the number of outputs. If an operator works along an axis, the second one
   is that axis, counted from 0. A real parameter is stored as the bits of a double. */
#ifndef ISOMER_OP_STEPS_H
#define ISOMER_OP_STEPS_H
#include "isomer_backend.h"
#include <string.h>

enum { OP_PARAMS = 64 }; /* parameters of a step, at most */
enum { OP_OUTPUTS, OP_AXIS };
/* A real parameter as a number, and a number as one. */
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

/* argmax, argmin: 1 for the last of several equal elements, not the first; 1 for argmin. */
enum { ARGMAX_LAST = OP_AXIS + 1, ARGMAX_MINIMUM };

/* The views of attention: results, then inputs. Of sdpa, which plan_attention.c makes of two
   products and a softmax, y, q, k, v have the axes batch, head, place, number; the further results
   have no elements, and nothing comes after the mask. */
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
#define SDPA "sdpa"
static inline int step_is_sdpa(const Step *s) {
    return s->kind == S_OP && s->op && strcmp(s->op, SDPA) == 0;
}
/* attention: the real factor of the scores, 0 for 1 / sqrt(size of a key); the real soft cap, 0 for
   none; 1 if causal; how many keys before and after its own position a query sees, -1 for all;
   which AttentionScores the fourth output shows.
   sdpa: the same, and an Unseen. */
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
    SHOW_SCORES,
    SHOW_CAPPED,
    SHOW_BIASED,
    SHOW_WEIGHTS
} AttentionScores;
/* The result of a query that sees no key, or whose scores are not numbers. ZERO: 0 if it sees none;
   DIVIDED: what the division by a sum of 0 gives; MENDED: 0 in both cases. */
typedef enum Unseen { UNSEEN_ZERO, UNSEEN_DIVIDED, UNSEEN_MENDED } Unseen;

enum { BITSHIFT_RIGHT = 1 }; /* bitshift: 1 for a shift to the right */
/* cachewrite: 1 if positions wrap around at the end of the axis. */
enum { CACHE_CIRCULAR = OP_AXIS + 1 };
/* cumsum, cumprod: 1 if an element does not count itself; 1 if from the end. */
enum { CUM_EXCLUSIVE = OP_AXIS + 1, CUM_REVERSE };
/* dft: the length, 0 for that of the axis; 1 for the inverse; 1 if only one half of a symmetric
   spectrum is stored. */
enum { DFT_LENGTH = OP_AXIS + 1, DFT_INVERSE, DFT_ONESIDED };
enum { STFT_HOP = 1, STFT_FRAME }; /* stft: elements from frame to frame; the length of a frame */
enum { GATHERND_BATCH = 1 };       /* gathernd: the number of batch axes */
/* gridsample: how to read between elements, and outside; 1 if the coordinates -1 and 1 are the
   centres of the first and last elements, 0 if they are the outer edges. */
enum { GRID_MODE = 1, GRID_OUTSIDE, GRID_ALIGN };
enum { GRID_LINEAR, GRID_NEAREST, GRID_CUBIC };
enum { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION };
/* maxplace: kernel, strides, pads and dilations as an S_POOL has them, then 1 if places count
   columns first; its windows are over view 2. */
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
/* rnn, gru, lstm: the direction; 1 if the batch is the first axis; 1 for the option that the
   operator has alone (relu, linear_first, coupled). */
enum { RECURRENT_DIRECTION = 1, RECURRENT_BATCH_FIRST, RECURRENT_OPTION };
enum { RECURRENT_FORWARD, RECURRENT_REVERSE, RECURRENT_BOTH };
/* roialign: samples of a bin along an axis, 0 for as many as it is long; the real scale; 1 if
   coordinates are shifted by half an element; 1 for the maximum, 0 for the mean. */
enum { ROI_SAMPLES = 1, ROI_SCALE, ROI_ALIGN, ROI_MODE };
/* How an update changes the element: scatterelements, scatteradd ..; scatternd .. */
enum { SCATTER_HOW = OP_AXIS + 1 };
enum { SCATTERND_HOW = 1 };
enum { SCATTER_NONE, SCATTER_ADD, SCATTER_MUL, SCATTER_MAX, SCATTER_MIN };
enum { THRESHOLD_ALPHA = 1 };            /* thresholdedrelu: real */
enum { SHRINK_BIAS = 1, SHRINK_LAMBDA }; /* shrink: real */
enum { TOPK_LARGEST = OP_AXIS + 1 };     /* topk: 1 for the greatest elements, 0 for the least */
enum { TREES_AVERAGE = 1 };              /* trees: 1 for the mean over the trees, 0 for the sum */
enum { UNIQUE_SORTED = OP_AXIS + 1 };    /* unique: 1 for ascending order */
#endif
