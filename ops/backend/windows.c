/* windows.c -- windows of convolutions and pools. */
#include "ops/backend/windows.h"

/* Whether a window along one axis reads a place of the image. */
static bool reads_image(int64_t start, int64_t kernel, int64_t dilation, int64_t size) {
    for (int64_t i = 0; i < kernel; i++)
        if (start + i * dilation >= 0 && start + i * dilation < size) return true;
    return false;
}

bool windows_read(const Step *s) {
    const StepWindow w = step_window(s);
    for (int i = 0; i < w.n; i++)
        for (int64_t o = 0; o < s->view[0].dim[2 + i]; o++)
            if (!reads_image(o * w.stride[i] - w.begin[i], w.kernel[i], w.dilation[i],
                             s->view[1].dim[2 + i]))
                return false;
    return true;
}
