"""Models of the twenty-eighth set of test/bench/UNSEEN.md in 8 bits, as ONNX Runtime's tool writes
them: NAME_qdq.onnx by pairs of QuantizeLinear and DequantizeLinear around operators of floats with
a scale for each channel, NAME_dynamic.onnx with scales that are found at each run.
Usage: unseen_twenty_eighth_quantized.py FOLDER"""

import os, sys
from onnxruntime import quantization
from unseen_eighth_quantized import static

if __name__ == "__main__":
    at = lambda name: os.path.join(sys.argv[1], name + ".onnx")
    static(at("bat_resnext26ts_script"), at("bat_resnext26ts_script_qdq"), per_channel=True)
    name = "longformer_2_script"
    quantization.quantize_dynamic(at(name), at(name + "_dynamic"))
