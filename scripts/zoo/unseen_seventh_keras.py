"""Models of the seventh set of test/bench/UNSEEN.md that Keras (TensorFlow, by tf2onnx) and
scikit-learn (by skl2onnx) write. Usage: unseen_seventh_keras.py FOLDER [NAME..]

Needs tensorflow-cpu and tf2onnx, or scikit-learn and skl2onnx: those whose library is missing are
not written."""

import os, sys

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
import numpy


def disturbed(net):
    """Moving averages as after training."""
    draw = numpy.random.default_rng(1)
    for w in net.weights:
        if "moving" in w.name or "gamma" in w.name:
            w.assign(draw.uniform(0.5, 1.5, w.shape))
        elif "beta" in w.name or "bias" in w.name:
            w.assign(draw.normal(0, 0.1, w.shape))
    return net


def keras_model(shape, make, integers=False):
    def write(path):
        import tensorflow as tf, tf2onnx

        net = disturbed(make(tf.keras))
        kind = tf.int32 if integers else tf.float32
        call = tf.function(lambda x: net(x, training=False))
        spec = [tf.TensorSpec((None, *shape), kind, name="x")]
        tf2onnx.convert.from_function(call, spec, opset=17, output_path=path)

    return write


def bi_lstm(k):
    l, c = k.layers, k.Sequential
    cells = l.Bidirectional(l.LSTM(64, return_sequences=True))
    return c(
        [
            l.Input((80,)),
            l.Embedding(2000, 64),
            cells,
            l.GlobalMaxPooling1D(),
            l.Dense(64, activation="relu"),
            l.Dense(1, activation="sigmoid"),
        ]
    )


def separable(k):
    l = k.layers
    x = y = l.Input((96, 64, 1))
    y = l.Conv2D(32, 3, strides=2, padding="same", use_bias=False)(y)
    y = l.Activation("relu")(l.BatchNormalization()(y))
    for c, s in ((64, 1), (128, 2), (128, 1), (256, 2)):
        y = l.SeparableConv2D(c, 3, strides=s, padding="same", use_bias=False)(y)
        y = l.Activation("relu")(l.BatchNormalization()(y))
    y = l.Dropout(0.1)(l.GlobalAveragePooling2D()(y))
    return k.Model(x, l.Dense(521, activation="sigmoid")(y))


def unet(k):
    l = k.layers
    x = y = l.Input((128, 128, 3))
    kept = []
    two = lambda y, c: l.Conv2D(c, 3, padding="same", activation="relu")(
        l.BatchNormalization()(l.Conv2D(c, 3, padding="same", activation="elu")(y))
    )
    for c in (16, 32, 64):
        y = two(y, c)
        kept.append(y)
        y = l.MaxPooling2D()(y)
    y = two(y, 128)
    for c in (64, 32, 16):
        y = l.Conv2DTranspose(c, 2, strides=2, padding="same")(y)
        y = two(l.Concatenate()([y, kept.pop()]), c)
    return k.Model(x, l.Conv2D(1, 1, activation="sigmoid")(y))


def attention(k):
    l = k.layers
    x = l.Input((48, 32))
    y = l.Dense(64)(x)
    for _ in "ab":
        a = l.MultiHeadAttention(4, 16)(y, y)
        y = l.LayerNormalization(epsilon=1e-6)(y + a)
        f = l.Dense(64)(l.Dense(128, activation="swish")(y))
        y = l.LayerNormalization(epsilon=1e-6)(y + f)
    return k.Model(x, l.Dense(5)(l.GlobalAveragePooling1D()(y)))


def cnn_gru(k):
    l = k.layers
    return k.Sequential(
        [
            l.Input((200, 8)),
            l.Conv1D(64, 5, padding="causal", activation="relu"),
            l.MaxPooling1D(2),
            l.Conv1D(64, 5, padding="same", activation="relu"),
            l.GRU(64, return_sequences=True),
            l.GRU(32),
            l.Dense(6, activation="softmax"),
        ]
    )


def table(make, columns=30):
    def write(path):
        import skl2onnx
        from skl2onnx.common.data_types import FloatTensorType

        draw = numpy.random.default_rng(1)
        x = draw.normal(size=(500, columns)).astype("float32")
        y = (x[:, 0] + x[:, 1] ** 2 > 0.7).astype(int) + (x[:, 2] > 0.5)
        net = make().fit(x, y)
        kinds = [("x", FloatTensorType([None, columns]))]
        options = {id(net): {"zipmap": False}} if hasattr(net, "classes_") else None
        if hasattr(net, "steps") and hasattr(net, "classes_"):
            options = {id(net): {"zipmap": False}}
        model = skl2onnx.convert_sklearn(net, initial_types=kinds, options=options, target_opset=17)
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "rows"
        with open(path, "wb") as file:
            file.write(model.SerializeToString())

    return write


def scaled_perceptron():
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), MLPClassifier((128, 64), max_iter=20))


def gaussian():
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    return GaussianProcessRegressor(RBF(2.0) + WhiteKernel(0.1), optimizer=None)


def neighbours():
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(5)


def mixture():
    from sklearn.mixture import GaussianMixture

    return GaussianMixture(6, random_state=1)


app = lambda name, **o: lambda k: getattr(k.applications, name)(weights=None, **o)
MODELS = {
    "keras_nasnet_mobile": keras_model((224, 224, 3), app("NASNetMobile")),
    "keras_efficientnet_v2_b0": keras_model(
        (160, 160, 3), app("EfficientNetV2B0", input_shape=(160, 160, 3))
    ),
    "keras_bi_lstm": keras_model((80,), bi_lstm, True),
    "keras_separable": keras_model((96, 64, 1), separable),
    "keras_unet": keras_model((128, 128, 3), unet),
    "keras_attention": keras_model((48, 32), attention),
    "keras_cnn_gru": keras_model((200, 8), cnn_gru),
    "sk_perceptron": table(scaled_perceptron),
    "sk_gaussian": table(gaussian),
    "sk_neighbours": table(neighbours),
    "sk_mixture": table(mixture),
}


def main(folder, *names):
    os.makedirs(folder, exist_ok=True)
    for name, write in MODELS.items():
        if names and name not in names:
            continue
        try:
            write(os.path.join(folder, name + ".onnx"))
            print(name, flush=True)
        except Exception as error:  # of any library: the others are written all the same
            print(f"{name}: not written: {str(error).strip()[:300]}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
