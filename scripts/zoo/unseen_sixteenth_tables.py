"""Models of the sixteenth set of test/bench/UNSEEN.md of tables and texts, that LightGBM and
XGBoost (by onnxmltools), CatBoost (by itself) and scikit-learn (by skl2onnx) write.
Usage: unseen_sixteenth_tables.py FOLDER [NAME..]"""

import sys
import numpy, onnx
from unseen_seventh_keras import MODELS, main

COLUMNS = 24


def drawn():
    draw = numpy.random.default_rng(1)
    x = draw.normal(size=(800, COLUMNS)).astype("float32")
    return x, (x[:, 0] + x[:, 1] * x[:, 3] > 0.4).astype(int) + (x[:, 2] > 0.5)


def saved(made, path):
    made.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "rows"
    with open(path, "wb") as file:
        file.write(made.SerializeToString())


def light(path):
    import lightgbm
    from onnxmltools import convert_lightgbm
    from onnxmltools.convert.common.data_types import FloatTensorType

    net = lightgbm.LGBMClassifier(n_estimators=40, num_leaves=15, verbose=-1).fit(*drawn())
    kinds = [("x", FloatTensorType([None, COLUMNS]))]
    saved(convert_lightgbm(net, initial_types=kinds, zipmap=False, target_opset=15), path)


def extreme(path):
    import xgboost
    from onnxmltools import convert_xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType

    x, y = drawn()
    net = xgboost.XGBRegressor(n_estimators=60, max_depth=5).fit(x, y + x[:, 4])
    kinds = [("x", FloatTensorType([None, COLUMNS]))]
    saved(convert_xgboost(net, initial_types=kinds, target_opset=15), path)


def oblivious(path):
    import catboost

    net = catboost.CatBoostRegressor(50, depth=6, verbose=False, allow_writing_files=False)
    net.fit(*drawn())
    net.save_model(path, format="onnx")


def words(path):
    """Text classification by counts of words and pairs of words."""
    import skl2onnx
    from skl2onnx.common.data_types import StringTensorType
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    draw = numpy.random.default_rng(1)
    texts = [" ".join(f"w{k}" for k in draw.integers(0, 200, 12)) for _ in range(300)]
    net = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression())
    net.fit(texts, draw.integers(0, 3, 300))
    made = skl2onnx.convert_sklearn(
        net,
        initial_types=[("x", StringTensorType([None]))],
        options={id(net): {"zipmap": False}},
        target_opset=17,
    )
    for node in made.graph.node:
        if node.op_type == "StringNormalizer":  # a locale that every system has
            node.attribute.append(onnx.helper.make_attribute("locale", "C"))
    saved(made, path)


def alike(path):
    """A power transform of the columns, then a normal distribution for each class."""
    import skl2onnx
    from skl2onnx.common.data_types import FloatTensorType
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PowerTransformer

    net = make_pipeline(PowerTransformer(), QuadraticDiscriminantAnalysis()).fit(*drawn())
    kinds = [("x", FloatTensorType([None, COLUMNS]))]
    made = skl2onnx.convert_sklearn(
        net, initial_types=kinds, options={id(net): {"zipmap": False}}, target_opset=17
    )
    saved(made, path)


MODELS.clear()
MODELS |= {
    "light_kinds": light,
    "xg_amounts": extreme,
    "cat_amounts": oblivious,
    "sk_words": words,
    "sk_powers": alike,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
