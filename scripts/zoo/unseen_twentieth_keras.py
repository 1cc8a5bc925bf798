"""Models of the twentieth set of test/bench/UNSEEN.md that Keras (TensorFlow, by tf2onnx) and
scikit-learn (by skl2onnx) write. Usage: unseen_twentieth_keras.py FOLDER [NAME..]"""

import sys
from unseen_seventeenth_tables import learnt
from unseen_seventh_keras import MODELS, keras_model, main


def kernels():
    from sklearn.decomposition import KernelPCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(KernelPCA(64, kernel="rbf", gamma=0.05), LogisticRegression())


def mir_net(k):
    """MIRNet, as in the examples of Keras: enhancement of dark images: three resolutions side by
    side, selected among for each channel, with attention to channels and to positions."""
    l = k.layers
    conv = lambda y, c, size=3, **o: l.Conv2D(c, size, padding="same", **o)(y)

    def chosen(parts, c):
        y = l.GlobalAveragePooling2D(keepdims=True)(l.Add()(parts))
        y = conv(y, c // 8, 1, activation="relu")
        shares = [conv(y, c, 1) for _ in parts]
        shares = l.Softmax(1)(l.Concatenate(1)([l.Reshape((1, c))(s) for s in shares]))
        split = [l.Reshape((1, 1, c))(shares[:, i]) for i in range(len(parts))]
        return l.Add()([l.Multiply()([p, s]) for p, s in zip(parts, split)])

    def attended(x, c):
        y = conv(conv(x, c, activation="relu"), c)
        z = l.GlobalAveragePooling2D(keepdims=True)(y)
        z = conv(conv(z, c // 8, 1, activation="relu"), c, 1, activation="sigmoid")
        mean = k.ops.mean(y, -1, keepdims=True)
        most = k.ops.max(y, -1, keepdims=True)
        where = conv(l.Concatenate()([mean, most]), 1, activation="sigmoid")
        both = l.Concatenate()([l.Multiply()([y, where]), l.Multiply()([y, z])])
        return l.Add()([x, conv(both, c, 1)])

    def smaller(x, c):
        y = conv(conv(conv(x, c, 1, activation="relu"), c, activation="relu"), c, 1)
        side = conv(l.MaxPooling2D()(x), 2 * c, 1)
        return l.Add()([side, conv(l.MaxPooling2D()(y), 2 * c, 1)])

    def larger(x, c):
        y = conv(conv(conv(x, c, 1, activation="relu"), c, activation="relu"), c, 1)
        return l.Add()([conv(l.UpSampling2D()(x), c // 2, 1), conv(l.UpSampling2D()(y), c // 2, 1)])

    def scales(x, c):
        half = smaller(x, c)
        quarter = smaller(half, 2 * c)
        a, b, d = attended(x, c), attended(half, 2 * c), attended(quarter, 4 * c)
        up = lambda y: larger(y, 4 * c)
        a2 = chosen([a, larger(b, 2 * c), larger(up(d), 2 * c)], c)
        b2 = chosen([smaller(a, c), b, up(d)], 2 * c)
        d2 = chosen([smaller(smaller(a, c), 2 * c), smaller(b, 2 * c), d], 4 * c)
        a, b, d = attended(a2, c), larger(attended(b2, 2 * c), 2 * c), attended(d2, 4 * c)
        y = chosen([a, b, larger(larger(d, 4 * c), 2 * c)], c)
        return l.Add()([x, conv(y, c)])

    c, x = 16, l.Input((96, 96, 3))
    y = first = conv(x, c)
    for _ in range(2):
        y = scales(y, c)
    return k.Model(x, l.Add()([x, conv(l.Add()([first, conv(y, c)]), 3)]))


MODELS.clear()
MODELS |= {
    "keras_mir_net": keras_model((96, 96, 3), mir_net),
    "sk_kernel_pca": learnt(kernels),
}

if __name__ == "__main__":
    main(*sys.argv[1:])
