"""The model of the fifteenth set of test/bench/UNSEEN.md that Keras (TensorFlow, by tf2onnx)
writes. Usage: unseen_fifteenth_keras.py FOLDER"""

import sys
from unseen_seventh_keras import MODELS, keras_model, main


def translate(k):
    """Translation as in the examples of Keras: a recurrence in both directions, then one with
    additive attention."""
    l = k.layers
    x = l.Input((40,))
    seen = l.Bidirectional(l.GRU(128, return_sequences=True))(l.Embedding(3000, 128)(x))
    asked = l.GRU(256, return_sequences=True)(
        l.Embedding(3000, 128)(l.Lambda(lambda t: t[:, :20])(x))
    )
    met = l.AdditiveAttention()([l.Dense(128)(asked), l.Dense(128)(seen)])
    y = l.Dense(256, activation="tanh")(l.Concatenate()([asked, met]))
    return k.Model(x, l.Dense(3000, activation="softmax")(y))


MODELS.clear()
MODELS["keras_translate"] = keras_model((40,), translate, True)

if __name__ == "__main__":
    main(*sys.argv[1:])
