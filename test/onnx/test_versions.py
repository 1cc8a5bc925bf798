"""Versions of operators. Every ONNX spelling in our tables is compared with the schemas of
onnx.defs at each version for which it holds: its attributes exist, and the defaults are those of
the schema. Then come traps: attributes that became inputs, meanings that changed, and new features.
Each is run at the versions around the change and compared with ONNX Runtime or ONNX's reference."""

import collections, fractions, os, subprocess
import numpy, onnx, onnx.parser, pytest
from operator_case import OPS
from small_models import BUILD, SHAPE, net
from test_nodes import Tool
from written import differs, run_any

OLDEST, NEWEST = 7, 28
SCHEMAS = collections.defaultdict(dict)
for schema in onnx.defs.get_all_schemas_with_history():
    if schema.domain == "":
        SCHEMAS[schema.name][schema.since_version] = schema


def schema_at(name, version):
    """The schema in force at a version, or None if the operator does not exist yet or any more."""
    known = [v for v in SCHEMAS.get(name, {}) if v <= version]
    schema = SCHEMAS[name][max(known)] if known else None
    return None if schema is None or schema.deprecated else schema


def theirs_of(item):
    """(our attribute or None, ONNX's attribute or None, value or None) in an item of a spelling."""
    if "==" in item:
        name, value = item.lstrip("+").split("==")
        return None, name, value
    if ":" in item and "=" not in item:
        name, special = item.split(":")
        return (None, name, None) if special == "ignore" else (None, None, None)
    ours, _, source = item.partition("=")
    source = (source or ours).partition("|")[0]
    return (
        (ours, None, None)
        if source.endswith("!") or source.startswith("input:")
        else (ours, source.rstrip("^"), None)
    )


def plain(value):
    """A default value, ours or that of a schema, in a form in which equal defaults compare
    equal."""
    value = {"no": "0", "yes": "1", "F": "1"}.get(value, value) if isinstance(value, str) else value
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, (list, tuple)):
        return tuple(plain(v) for v in value)
    if isinstance(value, str) and value.startswith("["):
        return tuple(plain(v.strip()) for v in value[1:-1].split(",") if v.strip())
    try:
        return numpy.float32(float(fractions.Fraction(value)))
    except (ValueError, TypeError):
        return str(value).lower()


def spellings():
    for op in OPS.values():
        for (name, since, until, items), domain in zip(op.onnx, op.domains):
            if domain != "-":
                continue  # other domains have other schemas
            for version in range(max(since, OLDEST), (until or NEWEST) + 1):
                yield op, name, version, items


def test_every_spelling_is_the_schemas():
    wrong, checked, said = [], 0, set()  # said: defaults that an earlier entry handles
    for op, name, version, items in spellings():
        schema, place = schema_at(name, version), f"{op.name}: {name} {version}"
        if schema is None:
            continue
        for item in items:
            ours, theirs, value = theirs_of(item)
            if theirs is None or theirs not in schema.attributes:
                continue
            attribute = schema.attributes[theirs]
            default = (
                onnx.helper.get_attribute_value(attribute.default_value)
                if attribute.default_value.type
                else None
            )
            if value is None and ours is not None:
                value = op.attrs[ours][1] or None
            if default is None or value is None or attribute.required:
                continue
            checked += 1
            if plain(value) == plain(default):
                said.add((name, version, theirs))
            elif (name, version, theirs) not in said or ours is not None:
                wrong.append(f"{place}: {theirs} is {default} where it is left out, ours {value}")
    assert not wrong, "\n".join(wrong)
    assert checked > 1000


def test_every_attribute_that_a_spelling_reads_exists():
    read, there = collections.defaultdict(set), collections.defaultdict(set)
    for op, name, version, items in spellings():
        schema = schema_at(name, version)
        for item in items if schema else []:
            theirs = theirs_of(item)[1]
            if theirs and ("|input:" not in item):
                read[op.name, name, item].add(version)
                if theirs in schema.attributes:
                    there[op.name, name, item].add(version)
    wrong = [
        f"{key}: versions {sorted(versions - there[key])} have no such attribute"
        for key, versions in read.items()
        if versions - there[key]
    ]
    assert not wrong, "\n".join(wrong)


def test_no_required_attribute_is_passed_over():
    wrong = []
    by_name = {
        "pads:axes": {"pads"},
        "slice:axes": {"starts", "ends"},
        "letters:equation": {"equation"},
        "shape:unsqueeze": {"axes"},
        "sizes:resize": {"scales"},
        "shape:unpool": {"kernel_shape"},
    }
    for op, name, version, items in spellings():
        schema = schema_at(name, version)
        named = {theirs_of(item)[1] for item in items}.union(
            *(by_name.get(item, set()) for item in items)
        )
        for attribute in schema.attributes.values() if schema else []:
            if attribute.required and attribute.name not in named:
                wrong.append(
                    f"{op.name}: {name} {version}: {attribute.name} must be given and is not read"
                )
    assert not wrong, "\n".join(wrong)


# ---- the traps

X = "float[2,3,4] x"
SPATIAL = "float[1,2,4,4] x"


def text(opset, signature, body, weights=""):
    return (
        f'<ir_version: 8, opset_import: ["" : {opset}]> trap ({signature}) => (float[] y)'
        f' {weights and "<" + weights + ">"} {{ {body} }}'
    )


TRAPS = {
    "squeeze_11": text(11, "float[2,1,3] x", "y = Squeeze <axes = [1]> (x)"),
    "squeeze_13": text(13, "float[2,1,3] x", "y = Squeeze (x, a)", "int64[1] a = {1}"),
    "unsqueeze_11": text(11, X, "y = Unsqueeze <axes = [0, -1]> (x)"),
    "unsqueeze_13": text(13, X, "y = Unsqueeze (x, a)", "int64[2] a = {0, -1}"),
    "split_11": text(11, X, "p, y = Split <axis = 2, split = [1, 3]> (x)"),
    "split_13": text(13, X, "p, y = Split <axis = 2> (x, s)", "int64[2] s = {1, 3}"),
    "split_18": text(18, X, "p, y = Split <axis = 1, num_outputs = 2> (x)"),
    "reduce_sum_11": text(11, X, "y = ReduceSum <axes = [1], keepdims = 0> (x)"),
    "reduce_sum_13": text(13, X, "y = ReduceSum <keepdims = 0> (x, a)", "int64[1] a = {1}"),
    "reduce_sum_13_none": text(13, X, "y = ReduceSum <noop_with_empty_axes = 1> (x)"),
    "reduce_mean_17": text(17, X, "y = ReduceMean <axes = [-1]> (x)"),
    "reduce_mean_18": text(18, X, "y = ReduceMean (x, a)", "int64[1] a = {-1}"),
    "clip_10": text(10, X, "y = Clip <min = 0.0, max = 0.5> (x)"),
    "clip_11": text(11, X, "y = Clip (x, , m)", "float m = {0.5}"),
    "slice_9": text(9, X, "y = Slice <axes = [2], starts = [1], ends = [-1]> (x)"),
    "slice_10": text(
        10,
        X,
        "y = Slice (x, s, e, a, t)",
        "int64[1] s = {3}, int64[1] e = {-9}, int64[1] a = {2}, int64[1] t = {-2}",
    ),
    "pad_10": text(10, X, "y = Pad <pads = [0,1,0,0,0,2], value = 3.0> (x)"),
    "pad_11": text(11, X, "y = Pad (x, p, v)", "int64[6] p = {0,1,0,0,0,2}, float v = {3.0}"),
    "pad_18": text(18, X, "y = Pad (x, p, , a)", "int64[2] p = {1,2}, int64[1] a = {-1}"),
    "dropout_11": text(11, X, "y = Dropout <ratio = 0.3> (x)"),
    "dropout_12": text(12, X, "y = Dropout (x, r)", "float r = {0.3}"),
    "topk_9": text(9, X, "y, i = TopK <k = 2> (x)"),
    "topk_10": text(10, X, "y, i = TopK (x, k)", "int64[1] k = {2}"),
    "topk_11": text(11, X, "y, i = TopK <largest = 0> (x, k)", "int64[1] k = {2}"),
    "reshape_5": text(7, X, "y = Reshape (x, s)", "int64[2] s = {0, -1}"),
    "reshape_14": text(
        14, "float[0,3] x", "y = Reshape <allowzero = 1> (x, s)", "int64[2] s = {3, 0}"
    ),
    "softmax_12": text(12, X, "y = Softmax (x)"),
    "softmax_13": text(13, X, "y = Softmax (x)"),
    "logsoftmax_12": text(12, X, "y = LogSoftmax <axis = 1> (x)"),
    "logsoftmax_13": text(13, X, "y = LogSoftmax <axis = 1> (x)"),
    "batchnorm_9": text(
        9,
        SPATIAL,
        "y = BatchNormalization (x, s, b, m, v)",
        "float[2] s = {1,2}, float[2] b = {0,1}, float[2] m = {0.5,0}, float[2] v = {1,4}",
    ),
    "batchnorm_15": text(
        15,
        SPATIAL,
        "y = BatchNormalization (x, s, b, m, v)",
        "float[2] s = {1,2}, float[2] b = {0,1}, float[2] m = {0.5,0}, float[2] v = {1,4}",
    ),
    "shape_13": text(13, X, "s = Shape (x) y = Cast <to = 1> (s)"),
    "shape_15": text(15, X, "s = Shape <start = -2, end = 2> (x) y = Cast <to = 1> (s)"),
    "resize_10": text(10, SPATIAL, "y = Resize (x, f)", "float[4] f = {1,1,2,2}"),
    "resize_11": text(
        11,
        SPATIAL,
        'y = Resize <mode = "linear"> (x, r, f)',
        "float[0] r = {}, float[4] f = {1,1,2,1.5}",
    ),
    "resize_13": text(
        13,
        SPATIAL,
        'y = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">'
        " (x, , , n)",
        "int64[4] n = {1,2,6,3}",
    ),
    "resize_18": text(
        18, SPATIAL, 'y = Resize <axes = [3, 2], mode = "linear"> (x, , , n)', "int64[2] n = {6,3}"
    ),
    "resize_19": text(
        19, SPATIAL, 'y = Resize <mode = "cubic"> (x, , f)', "float[4] f = {1,1,1.5,0.8}"
    ),
    "averagepool_7": text(
        7,
        SPATIAL,
        "y = AveragePool <kernel_shape = [3,3], pads = [1,1,1,1], count_include_pad = 1> (x)",
    ),
    "averagepool_10": text(
        10, SPATIAL, "y = AveragePool <kernel_shape = [3,3], strides = [2,2], ceil_mode = 1> (x)"
    ),
    "averagepool_19": text(
        19, SPATIAL, "y = AveragePool <kernel_shape = [2,2], dilations = [2,2]> (x)"
    ),
    "broadcast_7": text(7, X, "y = Add (x, w)", "float[3,1] w = {1,2,3}"),
    "gemm_9": text(
        9,
        "float[2,3] x",
        "y = Gemm <transB = 1> (x, w, c)",
        "float[4,3] w = {1,2,3,4,5,6,7,8,9,1,2,3}, float[4] c = {1,2,3,4}",
    ),
    "gemm_11": text(
        11, "float[2,3] x", "y = Gemm <alpha = 0.5> (x, w)", "float[3,2] w = {1,2,3,4,5,6}"
    ),
    "hardswish_14": text(14, X, "y = HardSwish (x)"),
    "layernorm_17": text(
        17,
        X,
        "y = LayerNormalization <axis = 1> (x, s)",
        "float[3,4] s = {1,2,3,4,5,6,7,8,9,1,2,3}",
    ),
    "mish_18": text(18, X, "y = Mish (x)"),
    "gelu_20": text(20, X, 'y = Gelu <approximate = "tanh"> (x)'),
    "groupnorm_21": text(
        21,
        SPATIAL,
        "y = GroupNormalization <num_groups = 2> (x, s, b)",
        "float[2] s = {1,2}, float[2] b = {0,1}",
    ),
    "rmsnorm_23": text(23, X, "y = RMSNormalization (x, s)", "float[4] s = {1,2,3,4}"),
    "swish_24": text(24, X, "y = Swish <alpha = 2.0> (x)"),
}


def ask(tool, model, feed):
    case = collections.namedtuple("Case", "model data_sets")(
        model, [([feed[info.name] for info in model.graph.input], [])]
    )
    return tool.ask(case)


@pytest.fixture(scope="module")
def tool(tmp_path_factory):
    return Tool(tmp_path_factory.mktemp("versions"))


@pytest.mark.parametrize("name", TRAPS)
def test_trap(name, tool, tmp_path):
    model = onnx.parser.parse_model(TRAPS[name])
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    feed = {"x": numpy.random.default_rng(3).normal(size=shape).astype("f4")}
    onnx.save(model, tmp_path / "m.onnx")
    verdict, have = ask(tool, model, feed)
    assert verdict == "done", have
    assert not differs(have, run_any(str(tmp_path / "m.onnx"), feed), 1e-4, 1e-5)


def test_group_normalization_18_is_refused(tool):
    """In version 18 the scale is for each group, from version 21 on for each channel."""
    weights = "float[2] s = {1,2}, float[2] b = {0,1}"
    model = onnx.parser.parse_model(
        text(18, SPATIAL, "y = GroupNormalization <num_groups = 2> (x, s, b)", weights)
    )
    verdict, why = ask(tool, model, {"x": numpy.zeros((1, 2, 4, 4), "f4")})
    assert verdict == "cannot" and "GroupNormalization" in why and "version 18" in why


def test_initializers_among_the_inputs(tool):
    """Below IR version 4, every initializer is also listed as an input, and does not count as
    one."""
    model = onnx.parser.parse_model(
        text(9, "float[2,3] x", "y = Mul (x, w)", "float[3] w = {1,2,3}")
    )
    model.ir_version = 3
    model.graph.output[0].type.tensor_type.ClearField("shape")
    x = numpy.arange(6, dtype="f4").reshape(2, 3)
    model.graph.input.append(onnx.helper.make_tensor_value_info("w", 1, [3]))
    case = collections.namedtuple("Case", "model data_sets")(model, [([x], [])])
    verdict, have = tool.ask(case)
    assert verdict == "done" and numpy.array_equal(have[0], x * numpy.array([1, 2, 3], "f4"))


NORMALIZED = """m (float[4, 8] x) => (float[4, 8] y)
    <float two = {2}, float eps = {1e-5}, float[8] s = {1, 2, 3, 4, 5, 6, 7, 8}> {
    r = Relu (x) q = Relu (r) u = ReduceMean <axes = [-1]> (q) d = Sub (q, u) p = Pow (d, two)
    v = ReduceMean <axes = [-1]> (p) e = Add (v, eps) f = Sqrt (e) g = Div (d, f) h = Mul (g, s)
    y = Add (h, s) }"""


@pytest.mark.parametrize("opset, kind", [(13, "ReduceMean"), (17, "LayerNormalization")])
def test_a_rule_whose_result_is_only_read_at_this_opset_does_not_spoil_the_others(
    optimize, tmp_path, opset, kind
):
    """LayerNormalization of opset 16 and older, ONNX Runtime's own, is read and never written."""
    path, out = tmp_path / "m.onnx", tmp_path / "o.onnx"
    head = f'<ir_version: 8, opset_import: ["" : {opset}]> '
    onnx.save(onnx.parser.parse_model(head + NORMALIZED), path)
    done = optimize(path, out, "--cost", "nodes")
    kinds = [node.op_type for node in onnx.load(out).graph.node]
    assert done.returncode == 0 and kinds.count("Relu") == 1 and kind in kinds, done.stdout


def test_a_new_name_is_not_one_that_has_a_type_in_the_file(optimize, tmp_path):
    """Another tool may have left the type of a value that is gone."""
    path, out = net(tmp_path / "m.onnx", blocks=1), tmp_path / "o.onnx"
    options = [*SHAPE, "--cost", "nodes", "--enable", "conv-batchnorm"]
    assert optimize(path, out, *options).returncode == 0
    names = lambda graph: {name for node in graph.node for name in [*node.input, *node.output]}
    fresh = {name for name in names(onnx.load(out).graph) if name.startswith("isomer_")}
    old = onnx.load(path)
    for name in fresh:
        info = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT64, [7])
        old.graph.value_info.append(info)
    onnx.save(old, path)
    assert optimize(path, out, *options).returncode == 0
    new = onnx.load(out).graph
    assert fresh and "BatchNormalization" not in {node.op_type for node in new.node}
    assert not fresh & names(new), "ONNX Runtime refuses a value of another type"


def test_an_attribute_that_cannot_be_read_is_not_left_out(tmp_path):
    """Its number has the form of a 32-bit float, which no integer has in a file."""
    axis = onnx.helper.make_attribute("axis", 0)
    axis.ClearField("i")
    axis = axis.SerializeToString() + b"\x1d\x01\0\0\0"
    node = onnx.helper.make_node("Softmax", ["x"], ["y"]).SerializeToString()
    node = onnx.NodeProto.FromString(node + b"\x2a" + bytes([len(axis)]) + axis)
    x, y = (onnx.helper.make_tensor_value_info(name, 1, [2, 3]) for name in "xy")
    opset = [onnx.helper.make_opsetid("", 17)]
    graph = onnx.helper.make_graph([node], "g", [x], [y])
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "m.onnx")
    done = subprocess.run(
        [os.path.join(BUILD, "run-model"), tmp_path / "m.onnx"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 3 and "attribute axis is damaged" in done.stderr, done.stderr
