"""Models of the twenty-seventh set of test/bench/UNSEEN.md in 8 bits, as ONNX Runtime's tool writes
them: NAME_qdq.onnx by pairs of QuantizeLinear and DequantizeLinear around operators of floats with
a scale for each channel, NAME_dynamic.onnx with scales that are found at each run.
Usage: unseen_twenty_seventh_quantized.py FOLDER"""

import os, sys
from onnxruntime import quantization
from unseen_eighth_quantized import static

if __name__ == "__main__":
    at = lambda name: os.path.join(sys.argv[1], name + ".onnx")
    static(at("act_script"), at("act_script_qdq"), per_channel=True)
    ready = at("gte_3") + ".part"  # its shapes are as the tool wants them
    quantization.quant_pre_process(at("gte_3"), ready)
    quantization.quantize_dynamic(ready, at("gte_3_dynamic"))
    os.remove(ready)
