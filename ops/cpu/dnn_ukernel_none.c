/* dnn_ukernel_none.c -- stubs for a build without oneDNN's micro-kernel (dnn_ukernel.c). */
#include "ops/cpu/cpu.h"

bool dnn_ukernel_possible(const Device *d, const Step *s) { return (void)d, (void)s, false; }
bool dnn_ukernel_build(Build *b, int choice, Kernel *k) {
    return (void)choice, (void)k, build_fail(b, "built without oneDNN's micro-kernel");
}
