"""Models of the eighth set of test/bench/UNSEEN.md in 8 bits, as ONNX Runtime's tool writes them.
Usage: unseen_eighth_quantized.py FOLDER: those that unseen.py wrote there and that are listed below
get a file NAME_qdq.onnx (activations and weights by drawn feeds) or NAME_dynamic.onnx."""

import os, sys
import numpy, onnx
from onnxruntime import quantization

STATIC = {  # name: whether each channel has its own scale
    "semnasnet_075_script": True,
    "resnetblur18": False,
    "psp_net_script": True,
    "bc_res_net": True,
}
DYNAMIC = ["megatron_bert_3_script", "graphormer"]


class Draws(quantization.CalibrationDataReader):
    """Four feeds of normal numbers; sizes that are open are `size`."""

    def __init__(self, path, size=1):
        draw, inputs = numpy.random.default_rng(1), onnx.load(path).graph.input
        of = lambda i: [d.dim_value or size for d in i.type.tensor_type.shape.dim]
        sizes = {i.name: of(i) for i in inputs}
        one = lambda: {n: draw.normal(size=s).astype("float32") for n, s in sizes.items()}
        self.feeds = iter([one() for _ in range(4)])

    def get_next(self):
        return next(self.feeds, None)


def static(path, out, size=1, feeds=None, **options):
    ready = path + ".part"
    quantization.quant_pre_process(path, ready)
    feeds = Draws(path, size) if feeds is None else feeds
    quantization.quantize_static(ready, out, feeds, **options)
    os.remove(ready)


def main(folder, fixed=STATIC, dynamic=DYNAMIC):
    at = lambda name: os.path.join(folder, name + ".onnx")
    for name, channels in fixed.items():
        static(at(name), at(name + "_qdq"), per_channel=channels)
    for name in dynamic:
        quantization.quantize_dynamic(at(name), at(name + "_dynamic"))


if __name__ == "__main__":
    main(*sys.argv[1:])
