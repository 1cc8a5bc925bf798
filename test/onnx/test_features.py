"""Operators of ai.onnx.ml, which converters write for models of scikit-learn, LightGBM and XGBoost,
run by the built-in runtime and compared with ONNX Runtime; optimize-model keeps what they
compute."""

import numpy, pytest
from forests import Forest, MODES
from test_contrib_float import compared

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


@pytest.mark.parametrize("shape, places", [((4, 6), [5, 0, 3]), ((6,), [[2, 2]]), ((2, 3, 6), [1])])
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
    """Weights of one class only: none of them negative, or some."""
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
