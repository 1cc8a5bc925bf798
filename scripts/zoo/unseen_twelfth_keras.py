"""Models of the twelfth set of test/bench/UNSEEN.md that Keras (TensorFlow, by tf2onnx) and
scikit-learn (by skl2onnx) write. Usage: unseen_twelfth_keras.py FOLDER [NAME..]"""

import sys
from unseen_seventh_keras import MODELS, app, keras_model, main, table


def repeated(k):
    """An autoencoder of series: an LSTM to one state, repeated, an LSTM back."""
    l = k.layers
    return k.Sequential(
        [
            l.Input((60, 8)),
            l.LSTM(96, return_sequences=True),
            l.LSTM(48),
            l.RepeatVector(60),
            l.LSTM(48, return_sequences=True),
            l.TimeDistributed(l.Dense(8)),
        ]
    )


def atrous(k):
    """DeepLab's head on channels last: convolutions of several steps, joined, enlarged."""
    l = k.layers
    x = y = l.Input((128, 128, 3))
    for c in (24, 48, 96):
        y = l.SeparableConv2D(c, 3, strides=2, padding="same", use_bias=False)(y)
        y = l.Activation("swish")(l.BatchNormalization()(y))
    parts = [l.Conv2D(48, 1, use_bias=False)(y)]
    for step in (2, 4, 6):
        parts.append(l.Conv2D(48, 3, dilation_rate=step, padding="same", use_bias=False)(y))
    mean = l.Conv2D(48, 1)(l.GlobalAveragePooling2D(keepdims=True)(y))
    parts.append(l.UpSampling2D(16, interpolation="bilinear")(mean))
    y = l.Activation("relu")(l.BatchNormalization()(l.Concatenate()(parts)))
    y = l.UpSampling2D(8, interpolation="bilinear")(l.Conv2D(21, 1)(y))
    return k.Model(x, l.Softmax()(y))


def isolation():
    from sklearn.ensemble import IsolationForest

    return IsolationForest(n_estimators=30, random_state=1)


def projected():
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures

    return make_pipeline(PCA(12), PolynomialFeatures(2), LogisticRegression(max_iter=50))


MODELS.clear()
MODELS |= {
    "keras_resnet50_v2": keras_model(
        (96, 96, 3), app("ResNet50V2", input_shape=(96, 96, 3), include_top=False)
    ),
    "keras_repeated": keras_model((60, 8), repeated),
    "keras_atrous": keras_model((128, 128, 3), atrous),
    "sk_isolation": table(isolation),
    "sk_projected": table(projected),
}

if __name__ == "__main__":
    main(*sys.argv[1:])
