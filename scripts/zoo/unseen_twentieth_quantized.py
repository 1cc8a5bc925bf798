"""Models of the twentieth set of test/bench/UNSEEN.md in fewer bits: NAME_qdq.onnx in the QDQ
format with a scale for each channel, NAME_qop.onnx in the QOperator format, both as ONNX Runtime's
tool writes them by default, and NAME_half.onnx in float16, by its tool for transformers.
Usage: unseen_twentieth_quantized.py FOLDER"""

import os, sys
import onnx
from onnxruntime.transformers.float16 import convert_float_to_float16
from unseen_eighth_quantized import static
from unseen_fourteenth_quantized import by_operators


def apart(made):
    """Each Resize gets its own factors: the tool does not take shared ones."""
    values = {v.name: v for v in made.graph.initializer}
    for k, node in enumerate(n for n in made.graph.node if n.op_type == "Resize"):
        own = made.graph.initializer.add()
        own.CopyFrom(values[node.input[2]])
        node.input[2] = own.name = f"{own.name}_{k}"
    return made


if __name__ == "__main__":
    at = lambda name: os.path.join(sys.argv[1], name + ".onnx")
    static(at("top_former_script"), at("top_former_script_qdq"), per_channel=True)
    by_operators(sys.argv[1], "pelee_script")
    onnx.save(convert_float_to_float16(apart(onnx.load(at("lite_mono")))), at("lite_mono_half"))
