/* bounds.h -- the numbers beyond which exponentials vanish or overflow, and 8-bit and 16-bit
   integers saturate. They are not constants because the compiler must not see them: if it knows
   that x cannot be beyond both bounds, it turns the two comparisons into branches, and these into
   masks, instead of a minimum and a maximum. */
#ifndef ISOMER_CPU_BOUNDS_H
#define ISOMER_CPU_BOUNDS_H
extern const float exp_bounds[2], flushed_bounds[2];
extern const float saturated_low[4], saturated_high[4]; /* int8, uint8, int16, uint16 */
#endif
