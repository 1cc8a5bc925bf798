"""The operators of ai.onnx.ml, which converters write for models of scikit-learn, LightGBM and
XGBoost. The built-in runtime runs them, and the results are compared with ONNX Runtime;
optimize-model must preserve what they compute."""

import numpy, onnx, onnxruntime, pytest
from onnx import helper
from forests import Forest, MODES
from test_contrib_float import compared, program, saved

INT64 = {"y": 7}


def check(folder, op, x, outputs=("y",), **attributes):
    feed = {"x": x} if isinstance(x, numpy.ndarray) else x
    return compared(
        folder, op, {}, list(feed), outputs, whole=feed, domain="ai.onnx.ml", **attributes
    )


def drawn(*shape, seed=3):
    return numpy.random.default_rng(seed).uniform(-2, 2, shape).astype("float32")


def numbers(n, seed):
    return drawn(n, seed=seed).tolist()


@pytest.mark.parametrize("kind", ["float32", "int64", "int32"])
@pytest.mark.parametrize("n", [1, 5])
def test_scaler(tmp_path, kind, n):
    x = (3 * drawn(4, 5)).astype(kind)
    check(tmp_path, "Scaler", x, offset=numbers(n, 1), scale=numbers(n, 2))


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_normalizer(tmp_path, norm):
    x = drawn(6, 5)
    x[2], x[3, 1:] = 0, 0
    check(tmp_path, "Normalizer", x, norm=norm)


@pytest.mark.parametrize("missing", [0.5, float("nan")])
@pytest.mark.parametrize("n", [1, 5])
def test_imputer(tmp_path, missing, n):
    x = drawn(4, 5)
    x[1, 2], x[0, 3], x[2, 2] = missing, missing, numpy.nan
    values = numbers(n, 1)
    check(tmp_path, "Imputer", x, imputed_value_floats=values, replaced_value_float=missing)


def test_imputer_of_integers(tmp_path):
    x = numpy.arange(12).reshape(4, 3) % 5
    check(
        tmp_path, "Imputer", x, kinds=INT64, imputed_value_int64s=[7, 8, 9], replaced_value_int64=2
    )


def test_binarizer(tmp_path):
    x = drawn(4, 5)
    x[1, 1] = 0.25
    check(tmp_path, "Binarizer", x, threshold=0.25)


@pytest.mark.parametrize(
    "shape, places",
    [((4, 6), [5, 0, 3]), ((6,), [[2, 2]]), ((2, 3, 6), [1]), ((4, 6), 3), ((6,), 2)],
)
def test_picked(tmp_path, shape, places):
    check(tmp_path, "ArrayFeatureExtractor", {"x": drawn(*shape), "p": numpy.array(places)})


@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("based", [False, True])
def test_linear_regressor(tmp_path, targets, based):
    lists = {"coefficients": numbers(5 * targets, 1), "targets": targets}
    lists |= {"intercepts": numbers(targets, 2)} if based else {}
    check(tmp_path, "LinearRegressor", drawn(4, 5), **lists)


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("classes", [2, 4])
def test_linear_classifier(tmp_path, post, classes):
    lists = {"coefficients": numbers(5 * classes, 1), "intercepts": numbers(classes, 2)}
    lists |= {"classlabels_ints": [7, 2, 9, 4][:classes], "multi_class": 0}
    check(
        tmp_path,
        "LinearClassifier",
        drawn(9, 5),
        ("y", "z"),
        kinds=INT64,
        post_transform=post,
        **lists,
    )


def rows():
    x = drawn(40, 5)
    x[::7, 2], x[::5, 0] = numpy.nan, numpy.nan
    return x


@pytest.mark.parametrize("modes", [MODES[:1], MODES])
@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("how", ["SUM", "AVERAGE"])
def test_tree_regressor(tmp_path, modes, targets, how):
    forest = Forest("target", 6, targets, modes)
    more = {"base_values": numbers(targets, 4)} if modes == MODES else {}
    more |= {"aggregate_function": how, "n_targets": targets}
    check(tmp_path, "TreeEnsembleRegressor", rows(), **forest.lists(), **more)


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("classes", [3, 4])
def test_tree_classifier(tmp_path, post, classes):
    forest = Forest("class", 6, classes, MODES[:1])
    check(
        tmp_path,
        "TreeEnsembleClassifier",
        rows(),
        ("y", "z"),
        kinds=INT64,
        post_transform=post,
        classlabels_int64s=[7, 2, 9, 4][:classes],
        **forest.lists(),
    )


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC"])
@pytest.mark.parametrize("low", [0.0, -1.0])
def test_two_classes(tmp_path, post, low):
    """There are weights for only one of the two classes; none or some of them are negative."""
    forest = Forest("class", 6, 1, MODES[:1], low)
    check(
        tmp_path,
        "TreeEnsembleClassifier",
        rows(),
        ("y", "z"),
        kinds=INT64,
        post_transform=post,
        classlabels_int64s=[3, 5],
        **forest.lists(),
    )


@pytest.mark.parametrize("kind", ["float32", "int64"])
@pytest.mark.parametrize("values", ["values_int64s", "values_floats"])
@pytest.mark.parametrize("default", [False, True])
@pytest.mark.parametrize("version", [2, 4])
def test_label_encoder(tmp_path, kind, values, default, version):
    """The keys are unordered, one of them occurs twice, and some elements have no key."""
    whole, to_whole = kind == "int64", values == "values_int64s"
    keys = [7, -3, 2**60 + 1, 5, -3] if whole else [0.5, -3.0, numpy.nan, 1e30, -3.0]
    lists = {"keys_int64s" if whole else "keys_floats": keys}
    lists[values] = [4, 9, 11, -2, 6] if to_whole else [0.25, 4.0, -1.5, 3.0, 8.0]
    if default:
        lists |= {"default_int64": 77} if to_whole else {"default_float": 0.75}
    x = numpy.array([keys + [1], [2**60 if whole else 0, *keys[::-1]]], kind)
    kinds = INT64 if to_whole else {}
    check(tmp_path, "LabelEncoder", x, kinds=kinds, version=version, **lists)


def test_labels_that_are_texts_are_refused(tmp_path):
    path, words = saved(
        tmp_path,
        "LabelEncoder",
        {"x": numpy.array([1, 2])},
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        version=2,
        kinds={"y": 8},
        keys_int64s=[1, 2],
        values_strings=["a", "b"],
    )
    with pytest.raises(AssertionError, match="values: only lists of int64 or float32"):
        program("run-model", path, *words)


@pytest.mark.parametrize("kind", ["float32", "int64"])
@pytest.mark.parametrize("shape", [(6,), (4, 3)])
def test_one_hot_encoder(tmp_path, kind, shape):
    x = numpy.random.default_rng(1).integers(0, 5, shape).astype(kind)
    check(tmp_path, "OneHotEncoder", x, cats_int64s=[3, 0, 4, 9], zeros=1)


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
@pytest.mark.parametrize("away", [0.0, 100.0])
def test_svm_regressor(tmp_path, kernel, away):
    """`away`: an offset of all features. If distances were computed from products, large offsets
    would cancel them."""
    if away and kernel != "RBF":
        pytest.skip("values of 100 to a power tell nothing")
    x, supports = (numpy.float32(away) + drawn(n, 5, seed=n) for n in (9, 12))
    check(
        tmp_path,
        "SVMRegressor",
        x,
        support_vectors=supports.ravel().tolist(),
        coefficients=numbers(12, 5),
        rho=[0.25],
        kernel_type=kernel,
        kernel_params=[0.125, 0.5, 3.0],
        n_supports=12,
    )


@pytest.mark.parametrize(
    "labels", [{"classlabels_int64s": [3, 1, 2]}, {"classlabels_strings": ["u", "v", "w"]}]
)
def test_maps_are_columns(tmp_path, labels):
    """For us, a sequence of maps is a matrix; optimize-model leaves the sequence in the file."""
    x = drawn(4, 3)
    nodes = [
        helper.make_node("Relu", ["x"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("ZipMap", ["r"], ["y"], domain="ai.onnx.ml", **labels),
    ]
    key = 7 if "classlabels_int64s" in labels else 8
    kind = helper.make_sequence_type_proto(
        helper.make_map_type_proto(key, helper.make_tensor_type_proto(1, None))
    )
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, [4, 3])],
        [helper.make_value_info("y", kind)],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    numpy.save(tmp_path / "x.npy", x)
    program(
        "run-model", path, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path / "out"
    )
    got = numpy.load(tmp_path / "out" / "y.npy")
    program("optimize-model", path, tmp_path / "o.onnx", "--cost", "nodes")
    assert [n.op_type for n in onnx.load(tmp_path / "o.onnx").graph.node] == ["Relu", "ZipMap"]
    for file in (path, tmp_path / "o.onnx"):
        session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        [rows] = session.run(None, {"x": x})
        names = next(iter(labels.values()))
        assert [set(row) for row in rows] == 4 * [set(names)]
        numpy.testing.assert_array_equal(got, [[row[name] for name in names] for row in rows])
