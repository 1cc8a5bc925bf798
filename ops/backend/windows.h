/* windows.h -- what windows of convolutions and pools read. */
#ifndef ISOMER_WINDOWS_H
#define ISOMER_WINDOWS_H
#include "ops/backend/isomer_backend.h"
#include <stdbool.h>

/* Whether each window of the S_CONV or S_POOL reads a place of the image along each axis: else one
   lies in the padding alone. */
bool windows_read(const Step *);
#endif
