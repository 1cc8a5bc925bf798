/* hardswish: x * hardsigmoid(x), where hardsigmoid has the slope 1/6. */
#include "ops/operator/op.h"

static const char *shape(Call *c) { return same_type(c, "F"); }

static const char expansion[] = "%h = hardsigmoid %x alpha=1/6\n"
                                "%y = mul %x %h\n"
                                "out %y\n";

static const OnnxMap onnx[] = {{"", "HardSwish", 14, 0, ""}, {0}};
const Op op_hardswish = {"hardswish", "x", "y", .shape = shape, .expand = expansion, .onnx = onnx};
