/* gelu: x times the normal distribution's cumulative function: x * (1 + erf(x / sqrt(2))) / 2 (Hendrycks, Gimpel, 2016). */
#include "op.h"

static const char *shape(Call *c) { return same_type(c, "F"); }

static const char expansion[] = "%s = fill value=0.7071067811865476 shape=[] dtype=x\n"
                                "%t = mul %x %s\n"
                                "%e = erf %t\n"
                                "%1 = fill value=1 shape=[] dtype=x\n"
                                "%p = add %e %1\n"
                                "%2 = fill value=1/2 shape=[] dtype=x\n"
                                "%h = mul %x %2\n"
                                "%y = mul %h %p\n"
                                "out %y\n";

static const OnnxMap onnx[] = {{"", "Gelu", 20, 0, "approximate==none"}, {0}};
const Op op_gelu = {"gelu", "x", "y", .shape = shape, .expand = expansion, .onnx = onnx};
