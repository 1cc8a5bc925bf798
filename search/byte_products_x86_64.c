/* byte_products_x86_64.c -- x86-64: sums of byte products saturate unless the processor has VNNI,
   for vectors of 512 bits or of 256 (AVX-VNNI). */
#include "search/byte_products.h"
#include <cpuid.h>
#include <stdlib.h>
#include <string.h>

/* The leaf of cpuid, the bit of AVX512_VNNI in ecx of subleaf 0, and that of AVX_VNNI in eax of
   subleaf 1. */
enum { FEATURES = 7, AVX512_VNNI = 1 << 11, AVX_VNNI = 1 << 4 };

bool byte_products_saturate(void) {
    const char *wish = getenv("ISOMER_CPU");
    unsigned a, b, c, d;
    if (wish && !strcmp(wish, "generic")) return true;
    if (__get_cpuid_count(FEATURES, 0, &a, &b, &c, &d) && c & AVX512_VNNI) return false;
    return !__get_cpuid_count(FEATURES, 1, &a, &b, &c, &d) || !(a & AVX_VNNI);
}
