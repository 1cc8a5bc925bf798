"""ONNX Runtime for random models: sessions without and with its optimizations, single nodes, and
which nodes it can run at all."""

import functools
import numpy, onnx, onnxruntime
from onnx import helper

onnxruntime.set_default_logger_severity(4)
LEVELS = {
    "off": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "on": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}


def session(model, level="off"):
    """A session for a model, which is a path or bytes. `level`: "off" or "on", its
    optimizations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = LEVELS[level]
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.enable_mem_pattern = False
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def run(session, feed):
    """The outputs by name. Values of types that numpy lacks are passed as OrtValues."""
    names = [o.name for o in session.get_outputs()]
    if any(v.dtype.name == "bfloat16" for v in feed.values()) or any(
        "bfloat16" in o.type for o in session.get_outputs()
    ):
        return run_values(session, feed, names)
    return dict(zip(names, session.run(names, feed)))


def run_values(session, feed, names):
    import ml_dtypes

    def given(v):
        if v.dtype.name != "bfloat16":
            return onnxruntime.OrtValue.ortvalue_from_numpy(numpy.ascontiguousarray(v))
        bits = numpy.ascontiguousarray(v).view("u2")
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, 16)

    binding = session.io_binding()
    values = {k: given(v) for k, v in feed.items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    for name in names:
        binding.bind_output(name, "cpu")
    session.run_with_iobinding(binding)
    results = {}
    for info, value in zip(session.get_outputs(), binding.get_outputs()):
        if "bfloat16" in info.type:
            widened = session_widen().run_with_ort_values(None, {"x": value})[0]
            results[info.name] = widened.numpy().astype(ml_dtypes.bfloat16)
        else:
            results[info.name] = value.numpy()
    return results


@functools.lru_cache(1)
def session_widen():
    node = helper.make_node("Cast", ["x"], ["y"], to=1)
    info = lambda name, kind: helper.make_tensor_value_info(name, kind, None)
    return session(one_node(node, [info("x", 16)], [info("y", 1)], 19))


def one_node(node, inputs, outputs, opset):
    graph = helper.make_graph([node], "g", inputs, outputs)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid(node.domain, opset)], ir_version=8
    )
    return model.SerializeToString()


ASKED = {}
KIND_OF_KERNEL = ("to", "dtype", "mode", "output_datatype")


def accepts(node, opset, types):
    """Whether ONNX Runtime has a kernel for the node with inputs of these types. The answer depends
    only on types and some attributes, and is kept."""
    chosen = tuple(a.SerializeToString() for a in node.attribute if a.name in KIND_OF_KERNEL)
    key = node.op_type, node.domain, opset, tuple(types), chosen
    if key not in ASKED:
        infos = [helper.make_tensor_value_info(n, t, None) for n, t in zip(node.input, types) if n]
        infos = list({i.name: i for i in infos}.values())
        results = [helper.make_empty_tensor_value_info(n) for n in node.output if n]
        try:
            session(one_node(node, infos, results, opset))
            ASKED[key] = True
        except Exception as error:
            words = ("NOT_IMPLEMENTED", "Type Error", "is invalid", "has been deprecated")
            ASKED[key] = not any(word in str(error) for word in words)
    return ASKED[key]


def lend(node, opset, arrays):
    """Computes in float a node that the reference cannot compute in double."""
    names = [f"x{k}" if a is not None else "" for k, a in enumerate(arrays)]
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    del copy.input[:]
    copy.input.extend(names)
    del copy.output[:]
    copy.output.extend(f"y{k}" if name else "" for k, name in enumerate(node.output))
    narrow = [a.astype("f4") if a is not None and a.dtype == "f8" else a for a in arrays]
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, narrow)
        if n
    ]
    results = [helper.make_empty_tensor_value_info(n) for n in copy.output if n]
    known = session(one_node(copy, infos, results, opset)).run(
        None, {n: a for n, a in zip(names, narrow) if n}
    )
    found = iter(known)
    out = [next(found) if name else None for name in copy.output]
    return [a.astype("f8") if a is not None and a.dtype == "f4" else a for a in out]
