"""run-model on models with unusual initializers, inputs and outputs."""

import numpy, onnx
from onnx import TensorProto, helper
from test_run_model import run, save, tensor


def test_initializers_that_are_no_constants_are_named(tmp_path):
    """A sparse one, and one that training changes."""
    values = helper.make_tensor("w", TensorProto.FLOAT, [2], [1.0, 2.0])
    places = helper.make_tensor("places", TensorProto.INT64, [2], [0, 3])
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", [4])], [tensor("y", [4])])
    sparse, trained = onnx.load(path), onnx.load(path)
    sparse.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [4]))
    onnx.save(sparse, path)
    done = run(path)
    assert done.returncode == 3
    assert "w: cannot be run: a sparse initializer is not supported" in done.stderr, done.stderr
    trained.graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [4], [1.0] * 4))
    training = trained.training_info.add()
    training.algorithm.CopyFrom(
        helper.make_graph(
            [helper.make_node("Neg", ["w"], ["next"])], "a", [], [tensor("next", [4])]
        )
    )
    update = training.update_binding.add()
    update.key, update.value = "w", "next"
    onnx.save(trained, path)
    done = run(path)
    assert done.returncode == 3
    assert "w: cannot be run: training changes this initializer" in done.stderr, done.stderr


def test_an_input_without_a_shape(tmp_path):
    """It has the sizes that an option or a file gives it."""
    nodes = [helper.make_node("Neg", ["x"], ["y"])]
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", None)], [tensor("y", None)])
    x = numpy.arange(6, dtype="f4").reshape(2, 3)
    numpy.save(tmp_path / "x.npy", x)
    done = run(path, "--input-shape", "x:2,3")
    assert done.returncode == 0 and done.stdout.startswith("y: F [2, 3] "), done.stderr
    done = run(path, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (numpy.load(tmp_path / "y.npy") == -x).all()
    done = run(path)
    assert done.returncode == 3
    assert "x: its sizes are not known; give them with --input-shape" in done.stderr


def test_an_input_that_is_a_sequence(tmp_path):
    text = """<ir_version: 8, opset_import: ["" : 17]> g (seq(float[4]) s) => (float[4] y)
      <int64 zero = {0}> { y = SequenceAt (s, zero) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    done = run(tmp_path / "m.onnx")
    assert done.returncode == 3 and "s: cannot be run: it is not a tensor" in done.stderr


def test_an_output_that_is_listed_twice_is_written(tmp_path):
    nodes = [helper.make_node("Neg", ["x"], ["y"])]
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", [4])], [tensor("y", [4])] * 2)
    done = run(path, "--output-dir", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["y.npy"]
