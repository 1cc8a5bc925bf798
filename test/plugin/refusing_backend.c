/* refusing_backend.c -- a plug-in that knows only an older version of the interface and says so by
   returning no back end. */
#include "isomer_backend.h"

const Backend *isomer_backend(uint32_t abi) { return (void)abi, (void *)0; }
