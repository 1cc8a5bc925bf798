"""Models of the eighth set of test/bench/UNSEEN.md that Keras (TensorFlow, by tf2onnx) and
scikit-learn (by skl2onnx) write. Usage: unseen_eighth_keras.py FOLDER [NAME..]"""

import sys
from unseen_seventh_keras import MODELS, app, keras_model, main, table


def caption(k):
    """A small transformer of text: places are added, a causal mask, words by the same table."""
    l = k.layers
    x = l.Input((40,), dtype="int32")
    words, places = l.Embedding(1000, 64), l.Embedding(40, 64)
    y = words(x) + places(k.ops.arange(40))
    for _ in "ab":
        a = l.MultiHeadAttention(4, 16)(y, y, use_causal_mask=True)
        y = l.LayerNormalization()(y + a)
        f = l.Dense(64)(l.Dense(256, activation="gelu")(y))
        y = l.LayerNormalization()(y + f)
    return k.Model(x, l.Dense(1000)(y))


def wave(k):
    """Causal dilated convolutions with gates, and sums of what each layer skips."""
    l = k.layers
    x = l.Input((400, 4))
    y, total = l.Conv1D(32, 1)(x), 0
    for d in (1, 2, 4, 8, 16):
        f = l.Conv1D(32, 2, padding="causal", dilation_rate=d, activation="tanh")(y)
        g = l.Conv1D(32, 2, padding="causal", dilation_rate=d, activation="sigmoid")(y)
        z = l.Conv1D(32, 1)(f * g)
        y, total = y + z, total + z
    return k.Model(x, l.Dense(2)(l.GlobalAveragePooling1D()(l.Activation("relu")(total))))


def scene(k):
    """A decoder that grows by bilinear steps, with group norms and channels weighed by means."""
    l = k.layers
    x = l.Input((96, 96, 3))
    y, kept = x, []
    for c in (24, 48, 96):
        y = l.Conv2D(c, 3, strides=2, padding="same")(y)
        y = l.Activation("swish")(l.GroupNormalization(8)(y))
        w = l.Dense(c, activation="sigmoid")(l.GlobalAveragePooling2D(keepdims=True)(y))
        y = y * w
        kept.append(y)
    for c in (48, 24):
        y = l.UpSampling2D(2, interpolation="bilinear")(y)
        y = l.Concatenate()([y, kept[c // 48]])
        y = l.Conv2D(c, 3, padding="same", activation="relu")(y)
    return k.Model(x, l.Conv2D(8, 1, activation="softmax")(l.UpSampling2D(2)(y)))


def components():
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    return make_pipeline(
        StandardScaler(), PCA(12), PolynomialFeatures(2), LogisticRegression(max_iter=200)
    )


MODELS.clear()
MODELS |= {
    "keras_convnext_tiny": keras_model(
        (96, 96, 3), app("ConvNeXtTiny", input_shape=(96, 96, 3), include_top=False)
    ),
    "keras_inception_v3": keras_model(
        (139, 139, 3), app("InceptionV3", input_shape=(139, 139, 3), include_top=False)
    ),
    "keras_caption": keras_model((40,), caption, True),
    "keras_wave": keras_model((400, 4), wave),
    "keras_scene": keras_model((96, 96, 3), scene),
    "sk_components": table(components),
}

if __name__ == "__main__":
    main(*sys.argv[1:])
