"""Unusual but valid models, as (name, model, feed); feed is None if no runtime here runs the model.
Each model has something unusual, and around it a convolution and a batch normalization that a rule
joins."""

import numpy, onnx
from onnx import TensorProto as T, helper as h, numpy_helper

X = numpy.random.default_rng(1).uniform(-1, 1, (1, 3, 6, 6)).astype("f4")


def weights(p=""):
    random = numpy.random.default_rng(2)
    shapes = {"w": (4, 3, 1, 1), "s": 4, "b": 4, "m": 4, "v": 4}
    return [
        numpy_helper.from_array(random.uniform(0.5, 1.5, shape).astype("f4"), p + name)
        for name, shape in shapes.items()
    ]


def core(x="x", y="y", p=""):
    """A convolution and a batch normalization, which become one node, from x [1,3,6,6] to
    y [1,4,6,6]. The value between them is p + "c"."""
    return [
        h.make_node("Conv", [x, p + "w"], [p + "c"], p + "conv"),
        h.make_node("BatchNormalization", [p + "c", *(p + n for n in "sbmv")], [y], p + "bn"),
    ]


def info(name, shape=(1, 3, 6, 6), dtype=T.FLOAT):
    return h.make_tensor_value_info(name, dtype, shape)


def make(nodes, inputs=None, outputs=None, initializers=None, opset=17, ir=8, more=(), **options):
    graph = h.make_graph(
        nodes,
        "g",
        inputs if inputs is not None else [info("x")],
        outputs or [info("y", (1, 4, 6, 6))],
        weights() if initializers is None else initializers,
        **{
            k: options.pop(k)
            for k in ("sparse_initializer", "value_info", "doc_string")
            if k in options
        },
    )
    return h.make_model(
        graph,
        opset_imports=[h.make_opsetid("", opset), *(h.make_opsetid(d, v) for d, v in more)],
        ir_version=ir,
        **options,
    )


def constant(name, value):
    return numpy_helper.from_array(numpy.asarray(value), name)


def subgraphs():
    then = h.make_graph(
        [
            h.make_node("Add", ["mid", "c"], ["isomer_1"]),
            h.make_node("Mul", ["isomer_1", "w0"], ["z"]),
        ],
        "t",
        [],
        [info("z", None)],
    )
    other = h.make_graph(
        [h.make_node("Relu", ["c"], ["isomer_1"])], "e", [], [info("isomer_1", None)]
    )
    nodes = [
        *core(y="mid"),
        h.make_node("If", ["cond"], ["y"], then_branch=then, else_branch=other),
    ]
    for cond in (True, False):
        yield f"if_{cond}", make(
            nodes,
            [info("x"), info("cond", (), T.BOOL)],
            initializers=[*weights(), constant("w0", numpy.float32(2))],
        ), {"x": X, "cond": numpy.array(cond)}
    fixed = make(
        nodes, initializers=[*weights(), constant("w0", numpy.float32(2)), constant("cond", True)]
    )
    yield "if_constant", fixed, {"x": X}
    body = h.make_graph(
        [
            h.make_node("Add", ["a", "mid"], ["isomer_2"]),
            h.make_node("Mul", ["isomer_2", "s4"], ["a1"]),
            h.make_node("Identity", ["go"], ["go1"]),
        ],
        "b",
        [info("i", (), T.INT64), info("go", (), T.BOOL), info("a", None)],
        [info("go1", (), T.BOOL), info("a1", None)],
    )
    yield "loop", make(
        [*core(y="mid"), h.make_node("Loop", ["n", "", "mid"], ["y"], body=body)],
        initializers=[
            *weights(),
            constant("n", numpy.int64(3)),
            constant("s4", numpy.full((4, 1, 1), 0.5, "f4")),
        ],
    ), {"x": X}
    body = h.make_graph(
        [h.make_node("Add", ["a", "e"], ["a1"]), h.make_node("Mul", ["e", "c"], ["o1"])],
        "b",
        [info("a", (4, 6, 6)), info("e", (4, 6, 6))],
        [info("a1", (4, 6, 6)), info("o1", None)],
    )
    yield "scan", make(
        [
            *core(y="mid"),
            h.make_node("Scan", ["zero", "mid"], ["last", "y"], body=body, num_scan_inputs=1),
        ],
        initializers=[*weights(), constant("zero", numpy.zeros((4, 6, 6), "f4"))],
        outputs=[info("y", None), info("last", (4, 6, 6))],
    ), {"x": X}
    inner = h.make_graph([h.make_node("Add", ["mid", "c"], ["z"])], "i", [], [info("z", None)])
    outer = h.make_graph(
        [h.make_node("If", ["cond"], ["q"], then_branch=inner, else_branch=inner)],
        "o",
        [],
        [info("q", None)],
    )
    yield "nested", make(
        [*core(y="mid"), h.make_node("If", ["cond"], ["y"], then_branch=outer, else_branch=outer)],
        [info("x"), info("cond", (), T.BOOL)],
    ), {"x": X, "cond": numpy.array(True)}
    same = [h.make_node("Relu", ["x"], ["r"]), h.make_node("Relu", ["x"], ["q"]), *core("r", "mid")]
    branch = lambda name: h.make_graph(
        [h.make_node("Add", ["mid", name], ["z"])], "t", [], [info("z", None)]
    )
    yield "captured_twins", make(
        [
            *same,
            h.make_node("ReduceSum", ["r"], ["sr"], keepdims=0),
            h.make_node("If", ["cond"], ["y"], then_branch=branch("sr"), else_branch=branch("t")),
        ][:4]
        + [
            h.make_node("ReduceSum", ["r"], ["sr"], keepdims=0),
            h.make_node("ReduceSum", ["q"], ["t"], keepdims=0),
            h.make_node("If", ["cond"], ["y"], then_branch=branch("sr"), else_branch=branch("t")),
        ],
        [info("x"), info("cond", (), T.BOOL)],
    ), {"x": X, "cond": numpy.array(False)}


def functions():
    body = [h.make_node("Mul", ["a", "a"], ["q"]), h.make_node("Add", ["q", "a"], ["o"])]
    of = lambda domain, name: h.make_function(
        domain, name, ["a"], ["o"], body, [h.make_opsetid("", 17)]
    )
    yield "function", make(
        [*core(y="mid"), h.make_node("Twist", ["mid"], ["y"], domain="mine")],
        more=[("mine", 1)],
        functions=[of("mine", "Twist")],
    ), {"x": X}
    yield "function_takes_known_name", make(
        [*core(y="mid"), h.make_node("Relu", ["mid"], ["y"])], functions=[of("", "Relu")]
    ), None
    yield "function_calls_function", make(
        [*core(y="mid"), h.make_node("Twice", ["mid"], ["y"], domain="mine")],
        more=[("mine", 1)],
        functions=[
            h.make_function(
                "mine",
                "Twice",
                ["a"],
                ["o"],
                [
                    h.make_node("Twist", ["a"], ["q"], domain="mine"),
                    h.make_node("Twist", ["q"], ["o"], domain="mine"),
                ],
                [h.make_opsetid("", 17), h.make_opsetid("mine", 1)],
            ),
            of("mine", "Twist"),
        ],
    ), {"x": X}


def other_types():
    tensor = h.make_tensor_type_proto(T.FLOAT, None)
    sequence, optional = h.make_sequence_type_proto(tensor), h.make_optional_type_proto(tensor)
    value = lambda name, type_: h.make_value_info(name, type_)
    index = constant("one", numpy.int64(1))
    yield "sequence", make(
        [
            *core(y="mid"),
            h.make_node("SequenceConstruct", ["mid", "c"], ["q"]),
            h.make_node("SequenceAt", ["q", "one"], ["y"]),
        ],
        initializers=[*weights(), index],
    ), {"x": X}
    yield "sequence_in_and_out", make(
        [*core(y="mid"), h.make_node("SequenceInsert", ["given", "mid"], ["y"])],
        [info("x"), value("given", sequence)],
        [value("y", sequence)],
    ), {"x": X, "given": [X, X[0]]}
    yield "split_to_sequence", make(
        [
            *core(y="mid"),
            h.make_node("SplitToSequence", ["mid"], ["q"], axis=1),
            h.make_node("ConcatFromSequence", ["q"], ["y"], axis=1),
        ]
    ), {"x": X}
    yield "optional", make(
        [
            *core(y="mid"),
            h.make_node("Optional", ["mid"], ["q"]),
            h.make_node("OptionalGetElement", ["q"], ["y"]),
        ],
        opset=18,
    ), {"x": X}
    yield "optional_input", make(
        [*core(y="mid"), h.make_node("OptionalHasElement", ["given"], ["there"])],
        [info("x"), value("given", optional)],
        [info("mid", (1, 4, 6, 6)), info("there", (), T.BOOL)],
        opset=18,
    ), {"x": X, "given": X}
    yield "map", make(
        [
            *core(y="mid"),
            h.make_node("ReduceMean", ["mid"], ["r"], axes=[2, 3], keepdims=0),
            h.make_node(
                "ZipMap", ["r"], ["y"], domain="ai.onnx.ml", classlabels_int64s=[3, 1, 4, 5]
            ),
        ],
        outputs=[
            value(
                "y",
                h.make_sequence_type_proto(
                    h.make_map_type_proto(T.INT64, h.make_tensor_type_proto(T.FLOAT, []))
                ),
            )
        ],
        more=[("ai.onnx.ml", 3)],
    ), {"x": X}
    strings = numpy.array(["a", "", "größe"], object)
    yield "strings", make(
        [
            *core(),
            h.make_node("Identity", ["t"], ["u"]),
            h.make_node("Concat", ["u", "k"], ["z"], axis=0),
            h.make_node("Constant", [], ["l"], value_strings=["x", ""]),
            h.make_node("Constant", [], ["o"], value_string="one"),
        ],
        [info("x"), info("t", ("n",), T.STRING)],
        [
            info("y", None),
            info("z", None, T.STRING),
            info("l", None, T.STRING),
            info("o", None, T.STRING),
        ],
        [*weights(), h.make_tensor("k", T.STRING, [2], [b"p", b"\xff\x00"[:0]])],
    ), {"x": X, "t": strings}
    sparse = h.make_sparse_tensor(
        h.make_tensor("sp", T.FLOAT, [2], [1.0, 2.0]),
        h.make_tensor("", T.INT64, [2], [0, 3]),
        [4, 1, 1],
    )
    alone = h.make_sparse_tensor(
        h.make_tensor("", T.FLOAT, [1], [3.0]), h.make_tensor("", T.INT64, [1], [2]), [4, 1, 1]
    )
    yield "sparse", make(
        [
            *core(y="mid"),
            h.make_node("Constant", [], ["k"], sparse_value=alone),
            h.make_node("Add", ["mid", "k"], ["q"]),
            h.make_node("Mul", ["q", "sp"], ["y"]),
        ],
        sparse_initializer=[sparse],
    ), {"x": X}


def element_types():
    for name, dtype in T.DataType.items():
        if name in ("UNDEFINED", "STRING"):
            continue
        opset, ir = (17, 8) if dtype <= 16 else (25, 13)
        values = (
            [complex(1, 2), complex(3, 4)]
            if "COMPLEX" in name
            else [1, 0] if name != "FLOAT8E8M0" else [1, 2]
        )
        kept = h.make_tensor("k", dtype, [2], values)
        raw = onnx.TensorProto(
            name="r",
            dims=[3],
            data_type=dtype,
            raw_data=(
                bytes(onnx.helper.tensor_dtype_to_np_dtype(dtype).itemsize * 3)
                if dtype <= 16
                else b"\1\1\1"[
                    : ({"INT4": 2, "UINT4": 2, "FLOAT4E2M1": 2, "INT2": 1, "UINT2": 1}.get(name, 3))
                ]
            ),
        )
        outputs = [info("y", None), info("z", (2,), dtype), info("q", (3,), dtype)]
        yield f"type_{name}", make(
            [*core(), h.make_node("Identity", ["k"], ["z"]), h.make_node("Identity", ["r"], ["q"])],
            outputs=outputs,
            initializers=[*weights(), kept, raw],
            opset=opset,
            ir=ir,
        ), {"x": X}
        if "COMPLEX" not in name:
            yield f"cast_{name}", make(
                [
                    *core(y="mid"),
                    h.make_node("Cast", ["mid"], ["q"], to=dtype),
                    h.make_node("Cast", ["q"], ["y"], to=T.FLOAT),
                ],
                opset=opset,
                ir=ir,
            ), {"x": numpy.abs(X)}


def sizes():
    nothing = numpy.zeros((0, 3), "f4")
    yield "empty_tensors", make(
        [
            *core(),
            h.make_node("Concat", ["e", "none", "two"], ["z"], axis=0),
            h.make_node("ReduceSum", ["e"], ["t"], keepdims=0),
            h.make_node("Mul", ["e", "none"], ["u"]),
        ],
        [info("x"), info("e", (0, 3))],
        [info("y", None), info("z", None), info("t", ()), info("u", (0, 3))],
        [*weights(), constant("none", nothing), constant("two", numpy.ones((2, 3), "f4"))],
    ), {"x": X, "e": nothing}
    yield "empty_batch", make(core(), [info("x", ("n", 3, 6, 6))], [info("y", ("n", 4, 6, 6))]), {
        "x": X[:0]
    }
    yield "scalars", make(
        [
            *core(y="mid"),
            h.make_node("Mul", ["mid", "k"], ["y"]),
            h.make_node("Add", ["a", "k"], ["z"]),
            h.make_node("Mul", ["a", "a"], ["u"]),
        ],
        [info("x"), info("a", ())],
        [info("y", None), info("z", ()), info("u", ())],
        [*weights(), constant("k", numpy.float32(3))],
    ), {"x": X, "a": numpy.float32(2).reshape(())}
    yield "unknown_rank", make(
        [*core(), h.make_node("Relu", ["a"], ["z"]), h.make_node("Add", ["z", "z"], ["t"])],
        [info("x", None), info("a", None)],
        [info("y", None), info("t", None)],
    ), {"x": X, "a": X[0, 0]}
    names = ["batch*2", "", "floor(h/2)", "größe +1"]
    dims = make(
        [*core(), h.make_node("Shape", ["x"], ["z"])],
        [info("x", ("n ", 3, "floor(h/2)", "größe +1"))],
        [info("y", names), info("z", (4,), T.INT64)],
    )
    yield "sizes_named_by_expressions", dims, {"x": X}
    anonymous = make(core(), [info("x", ("?", 3, "?", "None"))], [info("y", ("?", 4, -1, "?"))])
    yield "sizes_named_by_nothing", anonymous, {"x": X[:, :, :4]}
    yield "no_type_at_all", make(
        [*core(y="mid"), h.make_node("Relu", ["mid"], ["y"])],
        value_info=[onnx.ValueInfoProto(name="mid")],
    ), {"x": X}


def names_and_uses():
    scale = h.make_tensor_value_info("s", T.FLOAT, (4,))
    for ir in (3, 8):
        yield f"initializers_among_inputs_ir{ir}", make(
            core(),
            [info("x"), *(info(t.name, tuple(t.dims)) for t in weights())],
            ir=ir,
            opset=8 if ir == 3 else 17,
        ), {"x": X}
    yield "one_initializer_may_be_replaced", make(core(), [info("x"), scale]), {
        "x": X,
        "s": numpy.full(4, 3, "f4"),
    }
    yield "initializers_as_outputs", make(
        core(),
        outputs=[info("y", None), info("w", (4, 3, 1, 1)), info("s", (4,)), info("u", (2,))],
        initializers=[*weights(), constant("u", numpy.ones(2, "f4"))],
    ), {"x": X}
    yield "inputs_as_outputs", make(
        core(), [info("x"), info("a", (2,))], [info("y", None), info("x"), info("a", (2,))]
    ), {"x": X, "a": numpy.ones(2, "f4")}
    yield "value_between_as_output", make(core(), outputs=[info("y", None), info("c", None)]), {
        "x": X
    }
    yield "used_twice", make(
        [
            *core(y="mid"),
            h.make_node("Add", ["mid", "mid"], ["q"]),
            h.make_node("Concat", ["q", "q", "mid"], ["y"], axis=1),
        ],
        outputs=[info("y", None)],
    ), {"x": X}
    yield "one_value_two_outputs", make(
        [*core(), h.make_node("Identity", ["y"], ["z"]), h.make_node("Identity", ["x"], ["t"])],
        outputs=[info("y", None), info("z", None), info("t")],
    ), {"x": X}
    yield "twins_as_outputs", make(
        [*core(), h.make_node("Relu", ["y"], ["z"]), h.make_node("Relu", ["y"], ["t"])],
        outputs=[info("z", None), info("t", None)],
    ), {"x": X}
    yield "unused", make(
        [
            *core(),
            h.make_node("Relu", ["x"], ["nobody"]),
            h.make_node(
                "If",
                ["no"],
                ["none"],
                then_branch=h.make_graph(
                    [h.make_node("Relu", ["c"], ["z"])], "t", [], [info("z", None)]
                ),
                else_branch=h.make_graph(
                    [h.make_node("Neg", ["c"], ["z"])], "t", [], [info("z", None)]
                ),
            ),
        ],
        [info("x"), info("no", (), T.BOOL), info("extra", ("k", 2))],
        initializers=[*weights(), constant("spare", numpy.ones(9, "f4"))],
    ), {"x": X, "no": numpy.array(False), "extra": numpy.ones((2, 2), "f4")}
    yield "empty_names", make(
        [
            *core(y="mid"),
            h.make_node("Clip", ["mid", "", "top"], ["q"]),
            h.make_node("Resize", ["q", "", "", "sizes"], ["u"], mode="nearest"),
            h.make_node("Dropout", ["u", "", ""], ["y", ""]),
        ],
        outputs=[info("y", None)],
        initializers=[
            *weights(),
            constant("top", numpy.float32(1)),
            constant("sizes", numpy.array([1, 4, 12, 12])),
        ],
    ), {"x": X}
    yield "odd_names", make(
        [
            h.make_node("Conv", ["x", 'w "1"\n'], ["größe/c:0"], "same"),
            h.make_node("BatchNormalization", ["größe/c:0", *"sbmv"], ["isomer_1"], "same"),
            h.make_node("Relu", ["isomer_1"], ["isomer_2"], "same"),
            h.make_node("Add", ["isomer_2", "isomer_1"], ["y"]),
        ],
        initializers=[constant('w "1"\n', numpy_helper.to_array(weights()[0])), *weights()[1:]],
    ), {"x": X}
    yield "explicit_default_domain", make(
        [h.make_node("Conv", ["x", "w"], ["c"], domain="ai.onnx"), core()[1]]
    ), {"x": X}
    yield "no_nodes", make([], outputs=[info("x")], initializers=[]), {"x": X}
    yield "random_twins", make(
        [
            *core(y="mid"),
            h.make_node("RandomNormalLike", ["mid"], ["p"], seed=1.0),
            h.make_node("RandomNormalLike", ["mid"], ["q"], seed=2.0),
            h.make_node("Sub", ["p", "q"], ["r"]),
            h.make_node("Mul", ["r", "mid"], ["y"]),
        ]
    ), None


def constants():
    forms = [
        ("value", constant("", numpy.ones((4, 1, 1), "f4"))),
        ("value_float", 2.0),
        ("value_floats", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        ("value_int", 3),
        ("value_ints", [1, 2]),
    ]
    nodes = [h.make_node("Constant", [], [name], **{name: value}) for name, value in forms]
    uses = [
        h.make_node("Add", ["mid", "value"], ["p"]),
        h.make_node("Mul", ["p", "value_float"], ["q"]),
        h.make_node("Add", ["q", "value_floats"], ["y"]),
        h.make_node("Add", ["value_int", "value_ints"], ["z"]),
        h.make_node("Constant", [], ["t"], value_string="text"),
        h.make_node("Constant", [], ["u"], value_strings=["a", "b"]),
    ]
    outputs = [
        info("y", (1, 4, 6, 6)),
        info("z", None, T.INT64),
        info("t", (), T.STRING),
        info("u", (2,), T.STRING),
    ]
    yield "constant_forms", make([*core(y="mid"), *nodes, *uses], outputs=outputs), {"x": X}
    moved = [h.make_node("Constant", [], [t.name], value=t) for t in weights()]
    yield "weights_in_constants", make([*moved, *core()], initializers=[]), {"x": X}
    typed = [
        onnx.TensorProto(
            name=t.name,
            dims=t.dims,
            data_type=t.data_type,
            float_data=numpy_helper.to_array(t).flatten().tolist(),
        )
        for t in weights()
    ]
    yield "weights_in_float_data", make(core(), initializers=typed), {"x": X}


def described():
    model = make(
        [
            *core(y="mid"),
            h.make_node("Foo", ["mid"], ["q"], domain="nobody.knows", level=3, doc_string="of Foo"),
            h.make_node("Relu", ["q"], ["y"], doc_string="of Relu"),
        ],
        more=[("nobody.knows", 7), ("ai.onnx.ml", 2), ("not.used", 1)],
        doc_string="of the graph",
        producer_name="p",
        producer_version="1",
        domain="d",
        model_version=9,
        value_info=[info("mid", (1, 4, 6, 6)), info("c", (1, 4, 6, 6))],
    )
    for props, key in (
        (model.metadata_props, "m"),
        (model.graph.metadata_props, "g"),
        (model.graph.node[3].metadata_props, "n"),
    ):
        props.add(key=key, value="größe")
    model.doc_string = "of the model"
    model.graph.input[0].doc_string, model.graph.input[0].type.denotation = "of x", "IMAGE"
    yield "metadata", model, None
    model = make(
        [*core(y="mid"), h.make_node("Relu", ["mid"], ["y"])],
        initializers=[
            *weights(),
            constant("scale", numpy.float32(0.5)),
            constant("zero", numpy.uint8(3)),
        ],
    )
    for name in ("mid", "c", "w"):
        annotation = model.graph.quantization_annotation.add(tensor_name=name)
        annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="scale")
        annotation.quant_parameter_tensor_names.add(key="ZERO_POINT_TENSOR", value="zero")
    yield "quantization_annotations", model, {"x": X}
    model = make(
        [*core(), h.make_node("Relu", ["x"], ["seen"])],
        initializers=[
            *weights(),
            constant("rate", numpy.float32(0.1)),
            constant("iteration", numpy.int64(0)),
        ],
    )
    step = h.make_graph(
        [
            h.make_node("Mul", ["w", "rate"], ["w1"]),
            h.make_node("ReduceSum", ["seen"], ["loss"], keepdims=0),
            h.make_node("ReduceSum", ["c"], ["unused"], keepdims=0),
        ],
        "step",
        [],
        [info("w1", (4, 3, 1, 1)), info("loss", ())],
    )
    first = h.make_graph(
        [h.make_node("Constant", [], ["w0"], value=weights()[0])],
        "first",
        [],
        [info("w0", (4, 3, 1, 1))],
    )
    training = onnx.TrainingInfoProto(algorithm=step, initialization=first)
    training.update_binding.add(key="w", value="w1")
    training.initialization_binding.add(key="w", value="w0")
    model.training_info.append(training)
    yield "training_info", model, {"x": X}
    yield "runtime's_own_operator", make(
        [*core(y="mid"), h.make_node("Gelu", ["mid"], ["y"], domain="com.microsoft")],
        more=[("com.microsoft", 1)],
    ), {"x": X}
    yield "unknown_in_default_domain", make(
        [*core(y="mid"), h.make_node("NoSuchThing", ["mid", ""], ["y"], strange=[1, 2])]
    ), None
    yield "future_opset", make(core(), opset=99), None


GROUPS = [
    subgraphs,
    functions,
    other_types,
    element_types,
    sizes,
    names_and_uses,
    constants,
    described,
]
MODELS = [(name, model, feed) for group in GROUPS for name, model, feed in group()]
# Models to which no rule may be applied, so that they come back unchanged.
STANDS = {"no_nodes", "future_opset", "unknown_rank"}
