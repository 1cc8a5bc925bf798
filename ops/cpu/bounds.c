/* bounds.c -- the numbers of bounds.h. */
#include "ops/cpu/bounds.h"

const float exp_bounds[2] = {-104.0f, 89.0f}, flushed_bounds[2] = {-88.02f, 89.0f};
