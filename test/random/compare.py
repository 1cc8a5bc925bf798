"""How much two correct evaluations of a model may differ, and whether two results differ more.

The tolerance of an element is derived from the model, which is evaluated in double, and then again
with every value moved at random by NOISE roundings of its type (reference.py). If roundings move an
element by d, so may another order of the same computation. The movements of the other elements of
the tensor count, too, since a single draw may move an element little by chance."""

import numpy
from reference import NOISE, Double, Unable

DRAWS, MANY = 2, 24  # evaluations with noise; MANY before run-model is said to be wrong
FALLBACK = 2e-3  # the tolerance relative to the largest element if nothing could be evaluated
Truth = tuple  # (outputs in double, tolerances), both lists


class Open(Unable):
    """Raised if correct evaluations may differ by more than roundings, such as in their sizes."""


def moved(model, feed, exact, draws=DRAWS, noise=NOISE, **options):
    """For each output, how far noise moves each element at most."""
    most = [numpy.zeros(a.shape) for a in exact]
    for k in range(draws):
        for m, a, b in zip(most, exact, model.run(feed, noise, seed=k + 1, **options)):
            if a.shape != b.shape:
                raise Open("roundings decide sizes")
            with numpy.errstate(all="ignore"):
                d = numpy.abs(a.astype("f8") - b.astype("f8"))
            numpy.maximum(m, numpy.where(numpy.isnan(d), numpy.inf, d), out=m)
    return most


def spread(delta):
    """The tolerances for an output, given how far noise moved its elements."""
    if not delta.size:
        return delta
    finite = delta[numpy.isfinite(delta)]
    around = numpy.quantile(finite, 0.75) if finite.size else 0.0
    return 2 * delta + 3 * around


def truth(model, feed, draws=DRAWS):
    """The outputs in double and their tolerances."""
    exact = model.run(feed)
    return exact, [spread(d) for d in moved(model, feed, exact, draws)]


def unlike(a, b, tolerance, promise=None):
    """Why b differs from a, or an empty string. `promise` says what must hold if inputs were NaN or
    infinite: "same", NaN and infinities are at the same places; "kept", none vanishes; "", only
    elements that are finite in both are compared. If it is None, every finite element of `a` must
    be finite in b."""
    a, b = numpy.asarray(a), numpy.asarray(b)
    if a.shape != b.shape:
        return f"sizes {list(b.shape)} instead of {list(a.shape)}"
    if not a.size:
        return ""
    x, y = a.astype("f8"), b.astype("f8")
    with numpy.errstate(all="ignore"):
        tolerance = numpy.broadcast_to(tolerance, x.shape)
        bad = ~(numpy.abs(x - y) <= tolerance + 1e-37) & numpy.isfinite(x)
        if promise == "same":
            bad |= numpy.isfinite(x) != numpy.isfinite(y)
        elif promise is not None:
            bad &= numpy.isfinite(y)
        if promise == "kept":
            bad |= ~numpy.isfinite(x) & numpy.isfinite(y)
        if not bad.any():
            return ""
        excess = numpy.where(bad, numpy.abs(x - y) / (tolerance + 1e-37), 0)
    at = int(numpy.nanargmax(numpy.where(numpy.isnan(excess), numpy.inf, excess)))
    return (
        f"element {at} is {y.flat[at]:.9g}, was {x.flat[at]:.9g}; allowed {tolerance.flat[at]:.3g};"
        f" {int(bad.sum())} of {x.size} elements"
    )


def fallback(outputs):
    """Tolerances for outputs of a model that could not be evaluated in double."""
    found = []
    for a in outputs:
        x = numpy.abs(numpy.asarray(a).astype("f8"))
        x = x[numpy.isfinite(x)]
        found.append(numpy.array(FALLBACK * x.max() if x.size else 0.0))
    return found
