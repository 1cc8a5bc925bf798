"""Models of the fifteenth set of test/bench/UNSEEN.md in 8 bits, as unseen_eighth_quantized.py
writes its own, and NAME_half.onnx: float16 between inputs and outputs of float32, by ONNX Runtime's
tool. Usage: unseen_fifteenth_quantized.py FOLDER"""

import os, sys
import onnx
from onnxruntime.transformers.float16 import convert_float_to_float16
from unseen_eighth_quantized import main

STATIC = {"fbnetc_100_script": True, "lite_hr_net_script": False}
HALF = ["seresnext26t_32x4d", "q_former_2"]


def halved(folder, name):
    made = convert_float_to_float16(
        onnx.load(os.path.join(folder, name + ".onnx")), keep_io_types=True
    )
    onnx.save(made, os.path.join(folder, name + "_half.onnx"))


if __name__ == "__main__":
    main(*sys.argv[1:], STATIC, ["layoutlmv3_2_script", "whisper_step"])
    for each in HALF:
        halved(sys.argv[1], each)
