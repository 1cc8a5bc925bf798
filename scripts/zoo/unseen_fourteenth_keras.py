"""Models of the fourteenth set of test/bench/UNSEEN.md that Keras (TensorFlow, by tf2onnx) and
scikit-learn (by skl2onnx) write. Usage: unseen_fourteenth_keras.py FOLDER [NAME..]"""

import sys
from unseen_seventh_keras import MODELS, app, keras_model, main, table


def patches(k):
    """Patches of an image by attention, as the examples of Keras write it."""
    l = k.layers
    x = l.Input((96, 96, 3))
    y = l.Reshape((64, 128))(l.Conv2D(128, 12, strides=12)(x))
    for _ in range(3):
        z = l.LayerNormalization(epsilon=1e-6)(y)
        y = l.Add()([l.MultiHeadAttention(4, 32)(z, z), y])
        z = l.Dense(256, activation="swish")(l.LayerNormalization(epsilon=1e-6)(y))
        y = l.Add()([l.Dense(128)(z), y])
    y = l.Flatten()(l.LayerNormalization(epsilon=1e-6)(y))
    return k.Model(x, l.Dense(100, activation="softmax")(l.Dense(256, activation="swish")(y)))


def masks(k):
    """Masks of cells: residual separable stages down, transposed convolutions up."""
    l = k.layers
    x = l.Input((112, 112, 3))
    y = side = l.Activation("relu")(l.BatchNormalization()(l.Conv2D(32, 3, 2, padding="same")(x)))
    for c in (64, 128, 256):
        for _ in range(2):
            y = l.SeparableConv2D(c, 3, padding="same")(l.Activation("relu")(y))
            y = l.BatchNormalization()(y)
        y = l.MaxPooling2D(3, 2, padding="same")(y)
        side = y = l.Add()([y, l.Conv2D(c, 1, 2, padding="same")(side)])
    for c in (256, 128, 64, 32):
        for _ in range(2):
            y = l.Conv2DTranspose(c, 3, padding="same")(l.Activation("relu")(y))
            y = l.BatchNormalization()(y)
        y = l.UpSampling2D(2)(y)
        side = y = l.Add()([y, l.Conv2D(c, 1, padding="same")(l.UpSampling2D(2)(side))])
    return k.Model(x, l.Conv2D(3, 3, activation="softmax", padding="same")(y))


def stacked():
    from sklearn.ensemble import AdaBoostRegressor, StackingRegressor
    from sklearn.linear_model import BayesianRidge
    from sklearn.neighbors import KNeighborsRegressor

    parts = [("a", AdaBoostRegressor(n_estimators=10)), ("b", KNeighborsRegressor(4))]
    return StackingRegressor(parts, BayesianRidge(), cv=2)


def voting():
    from sklearn.ensemble import ExtraTreesClassifier, VotingClassifier
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.naive_bayes import BernoulliNB

    parts = [("a", ExtraTreesClassifier(40, max_depth=6, random_state=1))]
    parts += [("b", LinearDiscriminantAnalysis()), ("c", BernoulliNB(binarize=0.0))]
    return VotingClassifier(parts, voting="soft", flatten_transform=False)


def binned():
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.preprocessing import KBinsDiscretizer, RobustScaler

    return make_pipeline(
        make_union(KBinsDiscretizer(8, encode="onehot-dense"), RobustScaler()), Ridge()
    )


MODELS.clear()
MODELS |= {
    "keras_patches": keras_model((96, 96, 3), patches),
    "keras_masks": keras_model((112, 112, 3), masks),
    "keras_efficientnet_b0": keras_model(
        (128, 128, 3), app("EfficientNetB0", input_shape=(128, 128, 3), include_top=False)
    ),
    "sk_stacked": table(stacked),
    "sk_voting": table(voting),
    "sk_binned": table(binned),
}

if __name__ == "__main__":
    main(*sys.argv[1:])
