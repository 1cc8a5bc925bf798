"""Models of the fourteenth set of test/bench/UNSEEN.md in 8 bits, as unseen_eighth_quantized.py
writes its own, and NAME_qop.onnx in the QOperator format (QLinearConv ..) instead of the QDQ
format. Usage: unseen_fourteenth_quantized.py FOLDER"""

import os, sys
from onnxruntime.quantization import QuantFormat
from unseen_eighth_quantized import main, static

STATIC = {"mobilenetv3_small_100_script": True, "yolo_v5_nms_script": False}
OPERATORS = ["yolo_v5_nms_script", "mobilenetv3_small_100_script"]


def by_operators(folder, name, size=1):
    at = os.path.join(folder, name)
    static(at + ".onnx", at + "_qop.onnx", size, quant_format=QuantFormat.QOperator)


if __name__ == "__main__":
    main(*sys.argv[1:], STATIC, ["transducer_step_script"])
    for each in OPERATORS:
        by_operators(sys.argv[1], each)
