/* byte_products_any.c -- processors other than x86-64: they add products of bytes in 32 bits, which
   cannot saturate. */
#include "search/byte_products.h"
#include <stdlib.h>
#include <string.h>

bool byte_products_saturate(void) {
    const char *wish = getenv("ISOMER_CPU");
    return wish && !strcmp(wish, "generic");
}
