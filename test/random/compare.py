"""By how much two correct evaluations of a model may differ, and whether two results do.

The tolerance of an element follows from the model: it is evaluated in double, then again with every
value moved at random by NOISE roundings of its type (reference.py). What a rounding moves by d,
another order of the same computation may move by as much; an element is also allowed what the
elements around it move by, since a single draw may move it little by chance."""

import numpy
from reference import NOISE, Double, Unable

DRAWS, MANY = 2, 24  # the latter before run-model is said to be wrong
FALLBACK = 2e-3  # where nothing could be evaluated: relative to the largest
Truth = tuple  # (outputs in double, tolerances), both lists


class Open(Unable):
    """Correct evaluations may differ in more than their roundings."""


def moved(model, feed, exact, draws=DRAWS, noise=NOISE, **options):
    """How far noise moves each element of each output."""
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
    """The tolerance from how far noise moved an output."""
    if not delta.size:
        return delta
    finite = delta[numpy.isfinite(delta)]
    around = numpy.quantile(finite, 0.75) if finite.size else 0.0
    return 2 * delta + 3 * around


def truth(model, feed, draws=DRAWS):
    """Outputs in double, and by how much roundings may move each."""
    exact = model.run(feed)
    return exact, [spread(d) for d in moved(model, feed, exact, draws)]


def unlike(a, b, tolerance, promise=None):
    """Why b is not a; an empty string: it is. promise, where NaN and infinity were given: "same",
    they are at the same places; "kept", none vanishes; "", only what is finite in both is compared.
    Else every finite number of `a` must be there."""
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
    """Tolerances where nothing is known."""
    found = []
    for a in outputs:
        x = numpy.abs(numpy.asarray(a).astype("f8"))
        x = x[numpy.isfinite(x)]
        found.append(numpy.array(FALLBACK * x.max() if x.size else 0.0))
    return found
