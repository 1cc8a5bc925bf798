"""The model of the sixteenth set of test/bench/UNSEEN.md that JAX (Flax, by jax2onnx) writes.
Usage: unseen_sixteenth_flax.py FOLDER"""

import sys
from unseen_seventh_keras import MODELS, main


def mixer(path):
    """A mixer of patches, channels last."""
    import jax
    from flax import nnx
    from jax2onnx import to_onnx

    class Mixer(nnx.Module):
        def __init__(self, c, n, rngs):
            line = lambda i, o: nnx.Linear(i, o, rngs=rngs)
            self.a, self.b = nnx.LayerNorm(c, rngs=rngs), nnx.LayerNorm(c, rngs=rngs)
            self.w, self.u = line(n, 2 * n), line(2 * n, n)
            self.v, self.z = line(c, 4 * c), line(4 * c, c)

        def __call__(self, x):
            y = self.a(x).transpose(0, 2, 1)
            x = x + self.u(jax.nn.gelu(self.w(y))).transpose(0, 2, 1)
            return x + self.z(jax.nn.gelu(self.v(self.b(x))))

    class Net(nnx.Module):
        def __init__(self, rngs, c=192, n=64):
            self.first = nnx.Conv(3, c, (16, 16), strides=(16, 16), rngs=rngs)
            self.blocks = nnx.List([Mixer(c, n, rngs) for _ in range(3)])
            self.end = nnx.Linear(c, 100, rngs=rngs)

        def __call__(self, x):
            x = self.first(x)
            x = x.reshape(x.shape[0], -1, x.shape[-1])
            for block in self.blocks:
                x = block(x)
            return self.end(x.mean(1))

    to_onnx(Net(nnx.Rngs(0)), [(1, 128, 128, 3)], return_mode="file", output_path=path)


MODELS.clear()
MODELS |= {"flax_mixer": mixer}

if __name__ == "__main__":
    main(*sys.argv[1:])
