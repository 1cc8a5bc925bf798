"""Models of the fourteenth set of test/bench/UNSEEN.md in 8 bits, as unseen_eighth_quantized.py
writes its own, and NAME_qop.onnx by operators of whole numbers (QLinearConv ..) instead of pairs
around those of floats. Usage: unseen_fourteenth_quantized.py FOLDER"""

import os, sys
from onnxruntime import quantization
from unseen_eighth_quantized import Draws, main

STATIC = {"mobilenetv3_small_100_script": True, "yolo_v5_nms_script": False}
OPERATORS = ["yolo_v5_nms_script", "mobilenetv3_small_100_script"]


def by_operators(folder, name):
    path = os.path.join(folder, name + ".onnx")
    ready, out = path + ".part", os.path.join(folder, name + "_qop.onnx")
    quantization.quant_pre_process(path, ready)
    quantization.quantize_static(ready, out, Draws(path), quantization.QuantFormat.QOperator)
    os.remove(ready)


if __name__ == "__main__":
    main(*sys.argv[1:], STATIC, ["transducer_step_script"])
    for each in OPERATORS:
        by_operators(sys.argv[1], each)
