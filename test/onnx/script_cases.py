"""What the tests of scripts share: running a script, and small models to give it."""

import os, subprocess
import numpy, onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
SCRIPTS = os.path.join(ROOT, "scripts")


def tool(name, *arguments, stdin="", **environment):
    return subprocess.run(
        [os.path.join(SCRIPTS, name), *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        env=dict(os.environ, **environment),
    )


def scaled(path, factor, output="y", name="n", opset=13):
    """A model of y = x * factor for 2 by n floats."""
    x, y = (
        helper.make_tensor_value_info(each, TensorProto.FLOAT, [2, name]) for each in ("x", output)
    )
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "f"], [output])],
        "g",
        [x],
        [y],
        [numpy_helper.from_array(numpy.array([factor], "float32"), "f")],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path
    )
    return str(path)
