"""Models of the seventeenth set of test/bench/UNSEEN.md in 8 bits: NAME_qdq.onnx, NAME_qop.onnx and
NAME_dynamic.onnx, as those of the fourteenth. Usage: unseen_seventeenth_quantized.py FOLDER"""

import os, sys
from onnxruntime import quantization
from unseen_eighth_quantized import static
from unseen_fourteenth_quantized import by_operators

if __name__ == "__main__":
    at = lambda name: os.path.join(sys.argv[1], name + ".onnx")
    static(at("titanet_script"), at("titanet_script_qdq"), 100, per_channel=True)
    quantization.quantize_dynamic(at("bros_3_script"), at("bros_3_script_dynamic"))
    by_operators(sys.argv[1], "safmn_x2_script", 48)
