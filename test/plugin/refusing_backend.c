/* refusing_backend.c -- a plug-in that knows only an older interface version and says so. */
#include "isomer_backend.h"

const Backend *isomer_backend(uint32_t abi) { return (void)abi, (void *)0; }
