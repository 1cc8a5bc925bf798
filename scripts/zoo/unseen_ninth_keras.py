"""Models of the ninth set of test/bench/UNSEEN.md that Keras (TensorFlow, by tf2onnx) and
scikit-learn (by skl2onnx) write. Usage: unseen_ninth_keras.py FOLDER [NAME..]"""

import sys
from unseen_seventh_keras import MODELS, app, keras_model, main, table


def words_gru(k):
    """Words read in both directions by GRUs, a small convolution, the greatest of each feature."""
    l = k.layers
    x = l.Input((60,), dtype="int32")
    y = l.Bidirectional(l.GRU(48, return_sequences=True))(l.Embedding(1000, 64)(x))
    y = l.Conv1D(64, 3, activation="relu")(y)
    return k.Model(x, l.Dense(8, activation="softmax")(l.GlobalMaxPooling1D()(y)))


def frames(k):
    """Rain from radar: convolutional LSTM cells, volumes at the end."""
    l = k.layers
    x = l.Input((6, 32, 32, 1))
    y = l.ConvLSTM2D(16, 3, padding="same", return_sequences=True)(x)
    y = l.LayerNormalization()(y)
    return k.Model(x, l.Conv3D(1, 3, padding="same", activation="sigmoid")(y))


def clips(k):
    """The same small network of every frame, an LSTM over them."""
    l = k.layers
    inner = k.Sequential(
        [
            l.Input((48, 48, 3)),
            l.Conv2D(16, 3, strides=2, activation="relu"),
            l.DepthwiseConv2D(3, padding="same"),
            l.Conv2D(32, 1, activation="relu"),
            l.GlobalAveragePooling2D(),
        ]
    )
    x = l.Input((8, 48, 48, 3))
    return k.Model(x, l.Dense(5)(l.LSTM(32)(l.TimeDistributed(inner)(x))))


def support():
    from sklearn.svm import SVC

    return SVC(kernel="rbf")


def forest():
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(20, max_depth=6, random_state=1)


def clusters():
    from sklearn.cluster import KMeans
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), KMeans(16, n_init=1, random_state=1))


MODELS.clear()
MODELS |= {
    "keras_mobilenet_v3_small": keras_model(
        (160, 160, 3), app("MobileNetV3Small", input_shape=(160, 160, 3))
    ),
    "keras_xception": keras_model(
        (96, 96, 3), app("Xception", input_shape=(96, 96, 3), include_top=False)
    ),
    "keras_words_gru": keras_model((60,), words_gru, True),
    "keras_frames": keras_model((6, 32, 32, 1), frames),
    "keras_clips": keras_model((8, 48, 48, 3), clips),
    "sk_support": table(support),
    "sk_forest": table(forest),
    "sk_clusters": table(clusters),
}

if __name__ == "__main__":
    main(*sys.argv[1:])
