/* bounds.c -- the numbers of bounds.h. */
#include "ops/cpu/bounds.h"

const float exp_bounds[2] = {-104.0f, 89.0f}, flushed_bounds[2] = {-88.02f, 89.0f};
const float saturated_low[4] = {-128, 0, -32768, 0}, saturated_high[4] = {127, 255, 32767, 65535};
