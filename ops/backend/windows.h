/* windows.h -- which windows of convolutions and pools lie in the padding. */
#ifndef ISOMER_WINDOWS_H
#define ISOMER_WINDOWS_H
#include "ops/backend/isomer_backend.h"
#include <stdbool.h>

/* Whether every window of the S_CONV or S_POOL reads at least one place of the image. If not, some
   window lies in the padding alone. */
bool windows_read(const Step *);
#endif
