/* byte_products.h -- what processors do with products of unsigned and signed bytes. */
#ifndef ISOMER_BYTE_PRODUCTS_H
#define ISOMER_BYTE_PRODUCTS_H
#include <stdbool.h>

/* This processor adds two products of an unsigned and a signed byte in 16 bits, which saturate:
   x86-64 without VNNI. ONNX Runtime does so there for bytes of two kinds, and not for two signed
   or two unsigned ones. With ISOMER_CPU=generic in the environment it is taken to be so. */
bool byte_products_saturate(void);
#endif
