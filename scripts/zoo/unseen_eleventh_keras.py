"""Models of the eleventh set of test/bench/UNSEEN.md that Keras (TensorFlow, by tf2onnx) and
scikit-learn (by skl2onnx) write. Usage: unseen_eleventh_keras.py FOLDER [NAME..]"""

import sys
from unseen_seventh_keras import MODELS, app, keras_model, main, table


def series(k):
    """A transformer of series: attention over time, convolutions of one step between."""
    l = k.layers
    x = y = l.Input((120, 8))
    for _ in "ab":
        a = l.MultiHeadAttention(4, 32)(*[l.LayerNormalization()(y)] * 2)
        y = y + a
        f = l.Conv1D(32, 1, activation="relu")(l.LayerNormalization()(y))
        y = y + l.Conv1D(8, 1)(f)
    y = l.GlobalAveragePooling1D(data_format="channels_first")(y)
    return k.Model(x, l.Dense(5, activation="softmax")(l.Dense(64, activation="relu")(y)))


def enlarged(k):
    """ESPCN: channels last, pixels out of channels by reshapes."""
    l = k.layers
    x = l.Input((64, 64, 1))
    y = l.Conv2D(64, 5, padding="same", activation="tanh")(x)
    y = l.Conv2D(32, 3, padding="same", activation="tanh")(y)
    y = l.Conv2D(9, 3, padding="same")(y)
    y = l.Reshape((64, 64, 3, 3))(y)
    y = l.Reshape((192, 192, 1))(l.Permute((1, 3, 2, 4))(y))
    return k.Model(x, l.Activation("sigmoid")(y))


def boosted():
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(n_estimators=20, max_depth=3, random_state=1)


def quadratic():
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    return QuadraticDiscriminantAnalysis(reg_param=0.1)


MODELS.clear()
MODELS |= {
    "keras_densenet": keras_model(
        (96, 96, 3), app("DenseNet121", input_shape=(96, 96, 3), include_top=False)
    ),
    "keras_series": keras_model((120, 8), series),
    "keras_enlarged": keras_model((64, 64, 1), enlarged),
    "sk_boosted": table(boosted),
    "sk_quadratic": table(quadratic),
}

if __name__ == "__main__":
    main(*sys.argv[1:])
