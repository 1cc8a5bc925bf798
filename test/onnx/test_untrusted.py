"""Untrusted files go through optimize-model. It either ends with a clear error that names the place
or succeeds, within bounds of time and memory."""

import os, resource, subprocess, time
import onnx, pytest
from onnx import helper
from small_models import ASAN

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
BUILD = os.path.join(ROOT, os.environ.get("ISOMER_BUILD", "build"))
PROGRAM, ROUNDTRIP = os.path.join(BUILD, "optimize-model"), os.path.join(
    BUILD, "test", "tools", "onnx_roundtrip"
)
INVALID, LIMIT, ENVIRONMENT = 3, 4, 5
SECONDS, MEMORY = 60, 4 << 30
UNLIMITED = ASAN or os.environ.get("ISOMER_VALGRIND")


def bounded():
    if not UNLIMITED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def optimize(model, folder, *options):
    """Runs optimize-model: (exit status, messages). Checks that there is an output exactly if the
    status is 0."""
    out = os.path.join(folder, "out.onnx")
    command = [
        PROGRAM,
        model,
        out,
        "--cost",
        "flops",
        "--steps",
        "50",
        "--cost-db",
        os.path.join(folder, "costs"),
        "-q",
        *options,
    ]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS,
        preexec_fn=bounded,
    )
    assert os.path.exists(out) == (done.returncode == 0), done.stderr
    if done.returncode == 0:
        os.unlink(out)
    left = [name for name in os.listdir(folder) if ".new-" in name]
    assert not left
    return done.returncode, done.stderr


def info(name, shape=(2, 3), kind=1):
    return helper.make_tensor_value_info(name, kind, shape)


def tensor(name, values, kind=1, dims=None):
    return helper.make_tensor(name, kind, [len(values)] if dims is None else dims, values)


def save(folder, nodes, inputs, outputs, initializers=(), opset=17):
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    path = os.path.join(folder, "model.onnx")
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    return path


def node(kind, inputs, outputs, **attributes):
    return helper.make_node(kind, inputs, outputs, name="node_" + outputs[0], **attributes)


# ---- external data


def external(folder, location, offset=None, length=None):
    weight = tensor("weight", [0.0] * 6, dims=[2, 3])
    weight.ClearField("float_data")
    weight.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        if value is not None:
            weight.external_data.add(key=key, value=str(value))
    return save(folder, [node("Add", ["x", "weight"], ["y"])], [info("x")], [info("y")], [weight])


@pytest.fixture
def folder(tmp_path):
    """The folder of a model, outside of which there is a file that it must not read."""
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret").write_bytes(bytes(24))
    (inside / "weights").write_bytes(bytes(24))
    return str(inside)


@pytest.mark.parametrize(
    "location",
    ["../secret", "a/../../secret", "./../secret", "/etc/passwd", "..", ".", "", "a/.."],
)
def test_external_data_stays_in_the_folder(folder, location):
    code, message = optimize(external(folder, location), folder)
    why = "outside the model's folder" if location else "without the name of a file"
    assert code == INVALID and "model.onnx" in message and why in message, message


@pytest.mark.parametrize(
    "target, link, location",
    [("../secret", "link", "link"), ("..", "up", "up/secret"), ("/etc", "etc", "etc/passwd")],
)
def test_links_do_not_lead_outside(folder, target, link, location):
    os.symlink(target, os.path.join(folder, link))
    code, message = optimize(external(folder, location), folder)
    assert code == INVALID and "outside" in message and "'weight'" in message


def test_links_inside_are_followed(folder):
    os.symlink("weights", os.path.join(folder, "link"))
    assert optimize(external(folder, "link"), folder) == (0, "")


@pytest.mark.parametrize(
    "offset, length, want",
    [
        (4, 24, "beyond"),
        (2**64 - 1, 24, "beyond"),
        (0, 23, "23 bytes"),
        ("x", 24, "number"),
        (2**70, 24, "number"),
        (0, -1, "number"),
    ],
)
def test_external_data_fits_its_file(folder, offset, length, want):
    code, message = optimize(external(folder, "weights", offset, length), folder)
    assert code == INVALID and want in message and "'weight'" in message


def test_a_pipe_is_not_waited_for(folder):
    os.mkfifo(os.path.join(folder, "pipe"))
    code, message = optimize(external(folder, "pipe"), folder)
    assert code == ENVIRONMENT and "pipe" in message
    assert optimize(os.path.join(folder, "pipe"), folder)[0] == ENVIRONMENT


# ---- structure


@pytest.mark.parametrize(
    "nodes, want",
    [
        ([("Add", ["x", "b"], ["a"]), ("Relu", ["a"], ["b"])], "'b'"),
        ([("Relu", ["x"], ["a"]), ("Abs", ["x"], ["a"])], "'a' is defined twice"),
        ([("Relu", ["x"], ["x"])], "'x' is defined twice"),
        ([("Relu", ["a"], ["a"])], "'a'"),
        ([("Add", ["x", "missing"], ["a"])], "'missing'"),
        ([("", ["x"], ["a"])], "without an operator"),
    ],
)
def test_wrong_structure_is_named(tmp_path, nodes, want):
    path = save(tmp_path, [node(*n) for n in nodes], [info("x")], [info(nodes[-1][2][0])])
    code, message = optimize(path, tmp_path)
    assert code == INVALID and want in message and "node_" in message


def test_missing_outputs_are_named(tmp_path):
    code, message = optimize(
        save(tmp_path, [node("Relu", ["x"], ["a"])], [info("x")], [info("y")]), tmp_path
    )
    assert code == INVALID and "'y'" in message


def test_truncated_anywhere(tmp_path):
    """A protobuf message that is cut between two fields is still a message. Such a file passes only
    if it still is a model."""
    path = save(
        tmp_path,
        [node("Conv", ["x", "w"], ["c"], pads=[1] * 4), node("Relu", ["c"], ["y"])],
        [info("x", (1, 3, 8, 8))],
        [info("y", None)],
        [tensor("w", [0.5] * 27, dims=[1, 3, 3, 3])],
    )
    with open(path, "rb") as file:
        whole = file.read()
    cuts = {}
    for n in range(len(whole)):
        cuts[str(tmp_path / f"{n}.onnx")] = n
        with open(tmp_path / f"{n}.onnx", "wb") as file:
            file.write(whole[:n])
    done = subprocess.run(
        [ROUNDTRIP],
        input="".join(f"{cut} {tmp_path}/again\n" for cut in cuts),
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    answers = [line.split(" ", 2) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and [answer[1] for answer in answers] == list(cuts)
    for code, cut, message in answers:
        assert code == "0" and cuts[cut] > len(whole) - 8 or code == "3" and (cut in message), (
            code,
            cut,
            message,
        )
    for n in range(0, len(whole), 97):
        assert optimize(str(tmp_path / f"{n}.onnx"), tmp_path)[0] == INVALID


# ---- sizes

HUGE = 2**62
SIZES = {
    "doubled 70 times": lambda f: save(
        f,
        [node("Concat", [f"t{i}"] * 2, [f"t{i + 1}"], axis=0) for i in range(70)],
        [info("t0")],
        [info("t70", None)],
    ),
    "doubled 70 times, symbolic": lambda f: save(
        f,
        [node("Concat", [f"t{i}"] * 2, [f"t{i + 1}"], axis=0) for i in range(70)],
        [info("t0", ("a", "b"))],
        [info("t70", None)],
    ),
    "squared 70 times": lambda f: save(
        f,
        [node("Shape", ["x"], ["t0"])]
        + [node("Mul", [f"t{i}"] * 2, [f"t{i + 1}"]) for i in range(70)]
        + [node("ConstantOfShape", ["t70"], ["y"])],
        [info("x", ("a", "b"))],
        [info("y", None)],
    ),
    "a product of sums": lambda f: save(
        f,
        [node("Concat", [f"x{d}_{k}" for k in range(20)], [f"c{d}"], axis=0) for d in range(6)]
        + [node("Shape", [f"c{d}"], [f"s{d}"]) for d in range(6)]
        + [node("Concat", [f"s{d}" for d in range(6)], ["s"], axis=0)]
        + [node("ConstantOfShape", ["s"], ["z"]), node("Flatten", ["z"], ["y"], axis=6)],
        [info(f"x{d}_{k}", (f"a{d}_{k}",)) for d in range(6) for k in range(20)],
        [info("y", None)],
    ),
    "a constant of 10^12": lambda f: save(
        f,
        [
            node("ConstantOfShape", ["s"], ["z"]),
            node("Mul", ["z", "z"], ["q"]),
            node("Add", ["q", "x"], ["y"]),
        ],
        [info("x")],
        [info("y", None)],
        [tensor("s", [10**5, 10**5, 100], 7)],
    ),
    "a constant of 2^124": lambda f: save(
        f,
        [node("ConstantOfShape", ["s"], ["z"]), node("Add", ["z", "x"], ["y"])],
        [info("x")],
        [info("y", None)],
        [tensor("s", [HUGE, HUGE], 7)],
    ),
    "a constant of negative size": lambda f: save(
        f,
        [node("ConstantOfShape", ["s"], ["z"]), node("Add", ["z", "x"], ["y"])],
        [info("x")],
        [info("y", None)],
        [tensor("s", [-5, 3], 7)],
    ),
    "a weight expanded to 4 GB": lambda f: save(
        f,
        [node("Expand", ["w", "s"], ["z"]), node("Add", ["z", "x"], ["y"])],
        [info("x", (1, 1))],
        [info("y", None)],
        [tensor("s", [2**15, 2**15], 7), tensor("w", [1.0], dims=[1, 1])],
    ),
    "weights multiplied to 16 GB": lambda f: save(
        f,
        [
            node("MatMul", ["u", "v"], ["z"]),
            node("Relu", ["z"], ["q"]),
            node("Add", ["q", "x"], ["y"]),
        ],
        [info("x", (1, 1))],
        [info("y", None)],
        [tensor("u", [1.0] * 65536, dims=[65536, 1]), tensor("v", [1.0] * 65536, dims=[1, 65536])],
    ),
    "a range of 10^12": lambda f: save(
        f,
        [node("Range", ["a", "b", "c"], ["r"]), node("Mul", ["r", "r"], ["y"])],
        [info("x")],
        [info("y", None)],
        [tensor(n, [v], 7, []) for n, v in (("a", 0), ("b", 10**12), ("c", 1))],
    ),
    "pads of 2^62": lambda f: save(
        f,
        [node("Conv", ["x", "w"], ["y"], pads=[HUGE] * 4)],
        [info("x", (1, 3, 8, 8))],
        [info("y", None)],
        [tensor("w", [0.0] * 108, dims=[4, 3, 3, 3])],
    ),
    "strides and dilations beyond sense": lambda f: save(
        f,
        [
            node(
                "Conv",
                ["x", "w"],
                ["y"],
                pads=[-HUGE] * 4,
                strides=[2**63 - 1, 1],
                dilations=[0, -1],
            )
        ],
        [info("x", (1, 3, 8, 8))],
        [info("y", None)],
        [tensor("w", [0.0] * 108, dims=[4, 3, 3, 3])],
    ),
    "an input of 2^60": lambda f: save(
        f,
        [node("Relu", ["x"], ["t"]), node("Relu", ["t"], ["y"])],
        [info("x", (2**30, 2**29))],
        [info("y", None)],
    ),
    "an axis of 2^62": lambda f: save(
        f,
        [node("Softmax", ["x"], ["t"], axis=HUGE), node("Concat", ["t", "t"], ["y"], axis=-HUGE)],
        [info("x")],
        [info("y", None)],
    ),
    "a split into 10^6": lambda f: save(
        f,
        [node("Split", ["x"], [f"y{i}" for i in range(10**5)], axis=0)],
        [info("x", (10**5, 2))],
        [info("y0", None)],
    ),
    "64 axes": lambda f: save(
        f, [node("Relu", ["x"], ["y"])], [info("x", (2,) * 64)], [info("y", None)]
    ),
    "tiled 2^62 times": lambda f: save(
        f,
        [node("Tile", ["x", "s"], ["z"]), node("Mul", ["z", "z"], ["y"])],
        [info("x", (1, 1))],
        [info("y", None)],
        [tensor("s", [2**31, 2**31], 7)],
    ),
}


@pytest.mark.parametrize("case", SIZES)
def test_absurd_sizes_pass_or_are_refused(tmp_path, case):
    path = SIZES[case](str(tmp_path))
    code, message = optimize(path, tmp_path)
    assert code == 0 or code in (INVALID, LIMIT) and message.strip(), (code, message)


def test_absurd_tensors_are_refused(tmp_path):
    for dims, want in (([HUGE, HUGE], "too large"), ([-1], "negative"), ([7], "less data")):
        model = helper.make_model(
            helper.make_graph([node("Relu", ["x"], ["y"])], "g", [info("x")], [info("y")])
        )
        model.graph.initializer.add(name="w", data_type=1, dims=dims)
        (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
        code, message = optimize(str(tmp_path / "model.onnx"), tmp_path)
        assert code == INVALID and want in message


# ---- many nodes, and deeply nested ones


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def nested(depth):
    """The bytes of a graph with an If inside an If, and so on, so deep that the protobuf library
    refuses to write it."""
    graph = field(1, field(1, b"x") + field(2, b"r0") + field(4, b"Identity")) + field(
        12, field(1, b"r0")
    )
    for level in range(1, depth):
        attribute = field(1, b"then_branch") + field(6, graph) + b"\xa0\x01\x05"
        graph = field(
            1, field(1, b"c") + field(2, b"r%d" % level) + field(4, b"If") + field(5, attribute)
        ) + field(12, field(1, b"r%d" % level))
    return graph


def test_nesting_is_bounded(tmp_path):
    for depth, want in ((10, 0), (60, 0), (70, INVALID), (2000, INVALID)):
        path = save(
            tmp_path, [node("Relu", ["x"], ["q"])], [info("x"), info("c", (), 9)], [info("q", None)]
        )
        model = onnx.load(path)
        inner = field(5, field(1, b"then_branch") + field(6, nested(depth)) + b"\xa0\x01\x05")
        graph = model.graph.SerializeToString() + field(
            1, field(1, b"c") + field(2, b"y") + field(3, b"node_y") + field(4, b"If") + inner
        )
        model.ClearField("graph")
        (tmp_path / "model.onnx").write_bytes(model.SerializeToString() + field(7, graph))
        code, message = optimize(path, tmp_path)
        assert code == want and (not want or "node_y" in message and "deep" in message)


def chain(folder, kind, count):
    """Writes a model with a chain of so many nodes. Its bytes are written here, since the protobuf
    library needs a minute for a million nodes."""
    nodes = b"".join(
        field(1, field(1, b"t%d" % i) + field(2, b"t%d" % (i + 1)) + field(4, kind))
        for i in range(count)
    )
    one = onnx.load(save(folder, [node("Relu", ["x"], ["q"])], [info("t0")], [info(f"t{count}")]))
    del one.graph.node[:]
    graph = one.graph.SerializeToString() + nodes
    one.ClearField("graph")
    path = os.path.join(folder, "model.onnx")
    with open(path, "wb") as file:
        file.write(one.SerializeToString() + field(7, graph))
    return path


@pytest.mark.parametrize("kind", [b"Abs", b"NoSuchOperator"])
def test_a_million_nodes(tmp_path, kind):
    path = chain(str(tmp_path), kind, 10**6 if os.environ.get("ISOMER_HEAVY") else 10**5)
    start = time.monotonic()
    done = subprocess.run(
        [ROUNDTRIP],
        input=f"{path} {tmp_path}/out.onnx\n",
        capture_output=True,
        text=True,
        timeout=SECONDS,
        preexec_fn=bounded,
    )
    assert done.returncode == 0 and done.stdout.startswith("0 "), done.stdout + done.stderr
    assert time.monotonic() - start < SECONDS


@pytest.mark.parametrize(
    "kind, attribute",
    [
        ("Conv", {"auto_pad": 1}),
        ("ConvTranspose", {"auto_pad": [1]}),
        ("ReduceMax", {"keepdims": 1.5}),
        ("Flatten", {"axis": "one"}),
        ("ReduceMax", {"keepdims": "0"}),
        ("ReduceSum", {"noop_with_empty_axes": [1, 2]}),
    ],
)
def test_an_attribute_of_another_kind_makes_a_node_opaque(tmp_path, kind, attribute):
    two = ("w",) if "Conv" in kind else ()
    path = save(
        tmp_path,
        [node(kind, ["x", *two], ["y"], **attribute)],
        [info(name, (1, 1, 5, 5)) for name in ("x", *two)],
        [info("y", None)],
    )
    done = subprocess.run(
        [PROGRAM, path, tmp_path / "out.onnx", "--dry-run", "--cost", "flops"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0 and "0 of 1 nodes understood" in done.stdout, (
        done.stdout + done.stderr
    )


def field(number, message):
    """A field with these bytes, in protobuf's wire format."""
    length, n = b"", len(message)
    while n > 127:
        length, n = length + bytes([n & 127 | 128]), n >> 7
    return bytes([number << 3 | 2]) + length + bytes([n]) + message


def with_two(what):
    """A model that has two of a message of which ONNX has at most one. protobuf merges them."""

    def some(kind, number, message):
        return field(number, message) * (1 + (what == kind))

    value = onnx.AttributeProto(name="value", type=onnx.AttributeProto.TENSOR)
    value = value.SerializeToString() + some("tensor", 5, tensor("", [1, 2]).SerializeToString())
    constant = onnx.NodeProto(op_type="Constant", output=["c"]).SerializeToString()
    body = helper.make_graph([helper.make_node("Relu", ["x"], ["r"])], "b", [], [info("r", [2])])
    nodes = field(1, constant + field(5, value))
    branches = b""
    for name in ("then_branch", "else_branch"):
        branch = onnx.AttributeProto(name=name, type=onnx.AttributeProto.GRAPH)
        branch = branch.SerializeToString() + some("branch", 6, body.SerializeToString())
        branches += field(5, branch)
    choose = onnx.NodeProto(op_type="If", input=["b"], output=["d"]).SerializeToString()
    nodes += field(1, choose + branches)
    nodes += field(1, helper.make_node("Add", ["d", "c"], ["y"]).SerializeToString())
    shape = some("shape", 2, info("x", [2]).type.tensor_type.shape.SerializeToString())
    kind = some("type", 2, some("tensor type", 1, b"\x08\x01" + shape))
    inputs = field(11, onnx.ValueInfoProto(name="x").SerializeToString() + kind)
    inputs += field(11, info("b", [], onnx.TensorProto.BOOL).SerializeToString())
    name, output = field(2, b"g"), field(12, info("y", [2]).SerializeToString())
    graph = some("graph", 7, nodes + name + inputs + output)
    opset = helper.make_opsetid("", 13).SerializeToString()
    return onnx.ModelProto(ir_version=8).SerializeToString() + field(8, opset) + graph


@pytest.mark.parametrize("what", ["", "tensor", "branch", "shape", "type", "tensor type", "graph"])
def test_two_messages_for_one_are_refused(tmp_path, what):
    """What protobuf would merge is not guessed."""
    path = tmp_path / "m.onnx"
    path.write_bytes(with_two(what))
    if not what:
        onnx.checker.check_model(onnx.load(path), full_check=True)
    code, said = optimize(path, tmp_path)
    assert code == (INVALID if what else 0), said
    assert not what or "a second message where there can be only one" in said, said


def taso_rule(output):
    """A rule of TASO's format, relu x -> relu x, one of whose outputs is tensor `output` on the
    right side."""

    def varint(n):
        n &= (1 << 64) - 1
        bytes_ = b""
        while n > 127:
            bytes_, n = bytes_ + bytes([n & 127 | 128]), n >> 7
        return bytes_ + bytes([n])

    def field(number, value):
        if isinstance(value, bytes):
            return varint(number << 3 | 2) + varint(len(value)) + value
        return varint(number << 3) + varint(value)

    relu = field(1, 8) + field(2, field(1, -1) + field(2, 0))
    ends = field(1, 0) + field(2, output) + field(3, 0) + field(4, 0)
    return field(1, field(1, relu) + field(2, relu) + field(3, ends))


@pytest.mark.parametrize("output", [-1, -5, -63, -64, -30000])
def test_an_output_that_no_operator_reads(tmp_path, output):
    (tmp_path / "r.pb").write_bytes(taso_rule(output))
    program = os.path.join(BUILD, "verify-rules")
    done = subprocess.run([program, tmp_path / "r.pb"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stderr
    assert ("cannot be expressed" in done.stdout) == (output != -1), done.stdout


def test_a_right_side_with_very_many_paths(tmp_path):
    """What is written is looked at once, not once for each of 2^40 paths to it."""
    lines = [f"  %a{k + 1} = add %a{k} %a{k}" for k in range(39)]
    rule = [
        *["rule doubled", "  %x : F [n]", "from", f"  %c = fill value={2**40} shape=[n]"],
        *["  %y = mul %x %c", "  out %y", "to", "  %a0 = add %x %x", *lines, "  out %a39", ""],
    ]
    (tmp_path / "open.rules").write_text("\n".join(rule))
    verify = os.path.join(BUILD, "verify-rules")
    subprocess.run([verify, tmp_path / "open.rules", "-o", tmp_path / "r.rules"], check=True)
    text = f"""<ir_version: 8, opset_import: ["": 17]> g (float[8] x) => (float[8] z)
        <float[1] c = {{{2.0**40}}}> {{ y = Mul (x, c) z = Relu (y) }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    done = subprocess.run(
        [PROGRAM, tmp_path / "m.onnx", "--rules", tmp_path / "r.rules", "--cost", "nodes"]
        + ["--dry-run"],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr


def test_a_rule_of_very_many_nodes(tmp_path):
    lines = [f"  %a{k + 1} = neg %a{k}" for k in range(60000)]
    rule = ["rule long", "  %a0 : F [n]", "from", *lines, "  out %a60000"]
    (tmp_path / "r.rules").write_text("\n".join([*rule, "to", "  %y = neg %a0", "  out %y", ""]))
    program = os.path.join(BUILD, "verify-rules")
    done = subprocess.run([program, tmp_path / "r.rules"], capture_output=True, text=True)
    assert done.returncode == INVALID, done.stdout[-300:] + done.stderr
    assert "rule long has more than 10000 lines on one side" in done.stdout + done.stderr
