/* exact_windows.h -- what a convolution of 8-bit integers needs besides the sums of products. */
#ifndef ISOMER_EXACT_WINDOWS_H
#define ISOMER_EXACT_WINDOWS_H
#include "ops/operator/op.h"

/* The zero point of x: known now, or read when the step runs. */
typedef struct ZeroPoint {
    bool known;
    int64_t is; /* the zero point, if known; 0 also if there is none */
    View view;  /* the zero point, if it is not known */
} ZeroPoint;
/* Puts x, view 1 of the convolution, into a frame that is filled with its zero point, so that every
   window lies in it: view 1 becomes the frame, *x the image in it, and the pads become 0. Does
   nothing if there are no pads. False: no buffer is left, or a pad is negative. */
bool exact_frame(StepBuf *, View view[3], Step *conv, int64_t params[], const View *zero, View *x);
/* Adds steps that sum the windows of x minus its zero point over the channels of each group; *sums
   views the sums, 32-bit integers, with the sizes of y. *conv has the views y, x and w and the
   parameters with the pads of x, *framed those of the step that the target runs, which may read a
   frame around x. False: the sums are too large for floats, or no buffer is left. */
bool exact_window_sums(StepBuf *, const Step *conv, const Step *framed, const ZeroPoint *,
                       View *sums);
#endif
