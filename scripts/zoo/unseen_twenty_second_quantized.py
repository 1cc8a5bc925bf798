"""Models of the twenty-second set of test/bench/UNSEEN.md in 8 bits, as ONNX Runtime's tool writes
them: NAME_qdq.onnx in the QDQ format with a scale for each channel, NAME_dynamic.onnx dynamically
quantized. Usage: unseen_twenty_second_quantized.py FOLDER"""

import os, sys
from onnxruntime import quantization
from unseen_eighth_quantized import static

if __name__ == "__main__":
    at = lambda name: os.path.join(sys.argv[1], name + ".onnx")
    static(at("yolov7_tiny_script"), at("yolov7_tiny_script_qdq"), per_channel=True)
    quantization.quantize_dynamic(at("hubert_2_script"), at("hubert_2_script_dynamic"))
