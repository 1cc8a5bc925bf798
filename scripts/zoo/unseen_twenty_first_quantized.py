"""Models of the twenty-first set of test/bench/UNSEEN.md in fewer bits, as ONNX Runtime's tools
write them: NAME_qdq.onnx in the QDQ format with a scale for each channel, NAME_dynamic.onnx
dynamically quantized, and NAME_half.onnx in float16.
Usage: unseen_twenty_first_quantized.py
FOLDER"""

import os, sys
import onnx
from onnxruntime import quantization
from onnxruntime.transformers.float16 import convert_float_to_float16
from unseen_eighth_quantized import static
from unseen_twentieth_quantized import apart

if __name__ == "__main__":
    at = lambda name: os.path.join(sys.argv[1], name + ".onnx")
    static(at("lcnetv2_base_script"), at("lcnetv2_base_script_qdq"), per_channel=True)
    static(at("uvdoc"), at("uvdoc_qdq"))
    quantization.quantize_dynamic(
        at("wav2vec2_bert_2_script"), at("wav2vec2_bert_2_script_dynamic")
    )
    onnx.save(convert_float_to_float16(apart(onnx.load(at("iformer_s")))), at("iformer_s_half"))
