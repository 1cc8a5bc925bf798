/* bounds.h -- beyond which numbers exponentials vanish or overflow, and integers of 8 and 16 bits
   saturate. The compiler must not see them: where it knows that x is not beyond both, it makes
   branches of the two comparisons, and of these masks in place of a minimum and a maximum. */
#ifndef ISOMER_CPU_BOUNDS_H
#define ISOMER_CPU_BOUNDS_H
extern const float exp_bounds[2], flushed_bounds[2];
extern const float saturated_low[4], saturated_high[4]; /* int8, uint8, int16, uint16 */
#endif
