/* old_backend.c -- a plug-in that was built for another version of the interface and returns its
   back end regardless of the version it is asked for. It must be refused. */
#include "isomer_backend.h"

static const Backend backend = {.abi = BACKEND_ABI + 1, .size = sizeof(Backend), .name = "old"};
const Backend *isomer_backend(uint32_t abi) { return (void)abi, &backend; }
