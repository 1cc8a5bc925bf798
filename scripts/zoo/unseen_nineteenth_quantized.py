"""Models of the nineteenth set of test/bench/UNSEEN.md in 8 bits, as ONNX Runtime's tool writes
them: NAME_qdq.onnx in the QDQ format (signed bytes, its default), NAME_qop.onnx in the QOperator
format, NAME_dynamic.onnx dynamically quantized. Usage: unseen_nineteenth_quantized.py FOLDER"""

import os, sys
from onnxruntime import quantization
from unseen_eighth_quantized import static
from unseen_fourteenth_quantized import by_operators

if __name__ == "__main__":
    at = lambda name: os.path.join(sys.argv[1], name + ".onnx")
    static(at("scrfd_script"), at("scrfd_script_qdq"))
    static(at("plksr_x2_script"), at("plksr_x2_script_qdq"), 40, per_channel=True)
    by_operators(sys.argv[1], "modnet_script")
    quantization.quantize_dynamic(
        at("nystromformer_3_script"), at("nystromformer_3_script_dynamic")
    )
