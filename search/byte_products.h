/* byte_products.h -- tells whether sums of byte products saturate on this processor. */
#ifndef ISOMER_BYTE_PRODUCTS_H
#define ISOMER_BYTE_PRODUCTS_H
#include <stdbool.h>

/* Returns whether the processor adds products of an unsigned and a signed byte in pairs in 16 bits,
   which saturate: x86-64 without VNNI does. ONNX Runtime uses that instruction there for one signed
   and one unsigned operand, but not for two operands of the same signedness. ISOMER_CPU=generic in
   the environment makes the answer true. */
bool byte_products_saturate(void);
#endif
