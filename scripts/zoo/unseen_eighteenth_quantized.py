"""Models of the eighteenth set of test/bench/UNSEEN.md in 8 bits, as ONNX Runtime's tool writes
them by default: the QDQ format, with signed bytes. Usage: unseen_eighteenth_quantized.py FOLDER"""

import os, sys
import numpy, onnx
from onnxruntime import quantization
from unseen_eighth_quantized import Draws, static

IMAGES = {"lcnetv2_small_script": False, "rcan_x2_script": False, "lowformer_b0_script": True}
WORDS = {"roberta_pre_3_script": 4000}


class Words(quantization.CalibrationDataReader):
    """Four feeds of integers below `many`, for the only input."""

    def __init__(self, path, many):
        draw, (given,) = numpy.random.default_rng(1), onnx.load(path).graph.input
        size = [d.dim_value or 1 for d in given.type.tensor_type.shape.dim]
        self.feeds = iter([{given.name: draw.integers(0, many, size)} for _ in range(4)])

    def get_next(self):
        return next(self.feeds, None)


if __name__ == "__main__":
    at = lambda name: os.path.join(sys.argv[1], name + ".onnx")
    for name, channels in IMAGES.items():
        static(at(name), at(name + "_qdq"), 48, per_channel=channels)
    for name, many in WORDS.items():
        static(at(name), at(name + "_qdq"), feeds=Words(at(name), many))
