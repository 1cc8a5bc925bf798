/* old_backend.c -- a plug-in that was built for another interface version and does not notice: it
   must be refused. */
#include "isomer_backend.h"

static const Backend backend = {.abi = BACKEND_ABI + 1, .size = sizeof(Backend), .name = "old"};
const Backend *isomer_backend(uint32_t abi) { return (void)abi, &backend; }
