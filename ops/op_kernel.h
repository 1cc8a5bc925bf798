/* op_kernel.h -- reference kernels of operators without a definition, as S_OP steps find them by name. */
#ifndef ISOMER_OP_KERNEL_H
#define ISOMER_OP_KERNEL_H
#include "ops/steps.h"
typedef int (*OpKernel)(const Step *, void *const slot[]); /* 0: done. Plain loops over views; nothing is allocated. */
OpKernel op_kernel(const char *name);                      /* NULL: the operator has none */
#endif
