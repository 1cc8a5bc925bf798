/* byte_products_x86_64.c -- whether the processor has VNNI: for 512 bits, or for 256 (AVX-VNNI). */
#include "search/byte_products.h"
#include <cpuid.h>
#include <stdlib.h>
#include <string.h>

enum { FEATURES = 7, AVX512_VNNI = 1 << 11 /* of ecx, leaf 0 */, AVX_VNNI = 1 << 4 /* eax, 1 */ };

bool byte_products_saturate(void) {
    const char *wish = getenv("ISOMER_CPU");
    unsigned a, b, c, d;
    if (wish && !strcmp(wish, "generic")) return true;
    if (__get_cpuid_count(FEATURES, 0, &a, &b, &c, &d) && c & AVX512_VNNI) return false;
    return !__get_cpuid_count(FEATURES, 1, &a, &b, &c, &d) || !(a & AVX_VNNI);
}
