"""Makers of cases (operator_case.py) for the operators of ai.onnx.ml, whose attributes with lists
are constant inputs of our operators."""

import numpy as np
from forests import Forest, MODES
from operator_case import number

DOMAIN, FEATURES = "ai.onnx.ml", 5


def model(case, *constants, outputs=1):
    """Gives a case the input x and, for our operator only, the constants that are attributes in
    ONNX."""
    case.type, case.domain, case.outputs = case.op.onnx[0][0], DOMAIN, outputs
    case.inputs = [case.tensor(4, FEATURES), *constants]
    case.onnx_inputs = case.inputs[:1]


def given(case, **lists):
    """Gives the case these lists as ONNX attributes."""
    case.onnx_attrs.update({n: v.ravel().tolist() for n, v in lists.items() if v is not None})


def scaler(case):
    offset, scale = (
        None if case.below(3) == 0 else case.tensor(*[[], [FEATURES]][case.below(2)])
        for _ in range(2)
    )
    model(case, offset, scale)
    if not case.below(3):
        case.inputs[0] = case.onnx_inputs[0] = case.integers(4, FEATURES)
    # ONNX Runtime requires both lists, and that they have the same length.
    offset, scale = (
        np.broadcast_to(np.float32(k) if v is None else v, FEATURES)
        for k, v in enumerate((offset, scale))
    )
    given(case, offset=offset, scale=scale)


def imputer(case):
    missing = np.float32(case.random.choice([0.5, np.nan]))
    imputed = case.tensor(*[[], [FEATURES]][case.below(2)])
    model(case, imputed, missing)
    case.inputs[0].flat[[1, 7, 12]] = missing, np.nan, missing
    given(case, imputed_value_floats=imputed)
    case.onnx_attrs["replaced_value_float"] = float(missing)


def binarizer(case):
    model(case)
    case.attrs["threshold"] = case.draw("threshold")
    case.onnx_attrs["threshold"] = number(case.attrs["threshold"])
    case.inputs[0].flat[3] = case.onnx_attrs["threshold"]


def normalizer(case):
    model(case)
    case.attrs["norm"] = case.draw("norm")
    case.onnx_attrs["norm"] = case.attrs["norm"].upper()
    case.inputs[0][2] = 0


def pickfeatures(case):
    model(case)
    shape = [4, 3, FEATURES][2 - case.below(3) :]
    places = [[2], [1, 3]][case.below(2)]
    case.inputs = [case.tensor(*shape), case.integers(*places, low=0, high=FEATURES)]
    case.onnx_inputs = case.inputs


def linear(case, outputs, *labels):
    coefficients = case.tensor(outputs * FEATURES)
    # ONNX Runtime takes the number of classes from the intercepts, so a classifier has them.
    intercepts = case.tensor(outputs) if labels or case.below(2) else None
    model(case, coefficients, intercepts, *labels, outputs=1 + len(labels))
    given(case, coefficients=coefficients, intercepts=intercepts)


def linearregressor(case):
    targets = case.attrs["targets"] = int(case.draw("targets"))
    linear(case, targets)
    case.onnx_attrs["targets"] = targets


def posted(case, values):
    """Draws the transformation of the scores, one of `values`."""
    case.attrs["post"] = case.random.choice(values)
    case.onnx_attrs["post_transform"] = case.attrs["post"].upper()


def linearclassifier(case):
    labels = case.integers(2 + case.below(3))
    linear(case, len(labels), labels)
    posted(case, case.op.attrs["post"][2])
    given(case, classlabels_ints=labels)


def grown(case, of, outputs, low=-1.0):
    """Draws trees, sets the ONNX attributes for them, and returns our constants. Each leaf has
    weights for all outputs, because ONNX Runtime, unlike ONNX's reference, leaves out base values
    and labels if no leaf contributes to an output."""
    modes = MODES[:1] if case.below(2) else MODES
    forest = Forest(of, 1 + case.below(6), outputs, modes, low, case.below(1000), outputs)
    case.onnx_attrs.update(forest.lists())
    return forest.constants()


def with_gaps(case):
    """Makes some features of the input NaN."""
    case.inputs[0].flat[[3, 10]] = np.nan


def trees(case):
    outputs = 1 + case.below(3)
    base = case.tensor(outputs) if case.below(2) else None
    model(case, *grown(case, "target", outputs), base)
    with_gaps(case)
    how = case.random.choice(["sum", "average"])
    case.attrs = {"outputs": outputs, "average": how}
    case.onnx_attrs.update(n_targets=outputs, aggregate_function=how.upper())
    given(case, base_values=base)


def treeclassifier(case):
    labels = case.integers(3 + case.below(2))
    model(case, *grown(case, "class", len(labels)), None, labels, outputs=2)
    with_gaps(case)
    posted(case, case.op.attrs["post"][2])
    given(case, classlabels_int64s=labels)


def treebinary(case):
    labels, low = case.integers(2), case.random.choice([0.0, -1.0])
    constants = grown(case, "class", 1, low)
    model(case, *constants, None, labels, outputs=2)
    with_gaps(case)
    case.attrs["positive"] = "yes" if constants[-1].min() >= 0 else "no"
    posted(case, ["none", "logistic"])
    given(case, classlabels_int64s=labels)


def labelmap(case):
    whole = case.below(2)
    if whole:
        keys, x = np.sort(case.numpy.choice(20, 6, False)).astype(np.int64), case.integers(
            4, 5, low=0, high=20
        )
    else:
        keys = np.sort(case.tensor(6))
        keys[-1] = np.nan
        x = case.numpy.choice(np.append(keys, np.float32(0.5)), (4, 5))
    values, otherwise = case.integers(6), np.array(-7)
    model(case, keys, values, otherwise)
    case.version = 4
    case.inputs[0] = case.onnx_inputs[0] = x
    shuffled = case.numpy.permutation(6)
    given(case, values_int64s=values[shuffled])
    given(case, **{"keys_int64s" if whole else "keys_floats": keys[shuffled]})
    case.onnx_attrs["default_int64"] = -7


def categories(case):
    kinds = case.integers(3, low=0, high=9)
    kinds = np.unique(np.append(kinds, [9, 10]))
    model(case, kinds)
    shape = [4, 3, 2][: 1 + case.below(2)]
    case.inputs[0] = case.onnx_inputs[0] = case.integers(*shape, low=0, high=11)
    given(case, cats_int64s=kinds)
    case.onnx_attrs["zeros"] = 1


def zipmap(case):
    """The result of ONNX Runtime is a list of maps, which test_features.py compares; here the
    values are expected unchanged."""
    labels = case.integers(3)
    model(case, labels)
    case.inputs[0] = case.tensor(4, 3)
    case.expected = case.inputs[:1]


def svmregressor(case):
    supports, coefficients, rho = case.tensor(7 * FEATURES), case.tensor(7), case.tensor()
    model(case, supports, coefficients, np.float32(rho))
    for name in ("kernel", "gamma", "coef0", "degree"):
        case.attrs[name] = case.draw(name)
    case.onnx_attrs["kernel_type"] = case.attrs["kernel"].upper()
    parameters = [number(case.attrs[name]) for name in ("gamma", "coef0", "degree")]
    case.onnx_attrs.update(kernel_params=parameters, n_supports=7, rho=[float(rho)])
    given(case, support_vectors=supports, coefficients=coefficients)
