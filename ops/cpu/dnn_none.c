/* dnn_none.c -- stubs for a build without oneDNN. The device behaves as with the option dnn=none,
   so that the functions below are never asked to compute anything. */
#include "ops/cpu/cpu.h"
#include <stdio.h>

const bool dnn_built = false;
Dnn *dnn_open(int threads, char *why, size_t n) {
    (void)threads;
    return snprintf(why, n, "built without oneDNN"), NULL;
}
void dnn_close(Dnn *d) { (void)d; }
void dnn_identity(const Dnn *d, char *text, size_t n) {
    (void)d;
    snprintf(text, n, "built without oneDNN (convolutions are slower)");
}
bool dnn_conv_possible(const Device *d, const Step *s, DnnAlgorithm algorithm) {
    return (void)d, (void)s, (void)algorithm, false;
}
bool dnn_conv_build(Build *b, DnnAlgorithm algorithm, Kernel *k) {
    return (void)algorithm, (void)k, build_fail(b, "built without oneDNN");
}
int dnn_pool_choices(const Device *d, const Step *s) { return (void)d, (void)s, 0; }
bool dnn_pool_build(Build *b, int choice, Kernel *k) {
    return (void)choice, (void)k, build_fail(b, "built without oneDNN");
}
bool dnn_int8_possible(const Device *d, const Step *s) { return (void)d, (void)s, false; }
bool dnn_int8_build(Build *b, Kernel *k) { return (void)k, build_fail(b, "built without oneDNN"); }
int dnn_gemm_choices(const Device *d, const Step *s) { return (void)d, (void)s, 0; }
bool dnn_gemm_build(Build *b, int choice, Kernel *k) {
    return (void)choice, (void)k, build_fail(b, "built without oneDNN");
}
