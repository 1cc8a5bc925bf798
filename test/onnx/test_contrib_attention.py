"""Attention in ONNX Runtime's domain com.microsoft, and the operators around it in transformers.
The built-in runtime runs them, and the results are compared with ONNX Runtime."""

import numpy, pytest
from test_contrib_float import compared

RNG = numpy.random.default_rng(9)


def trimmed(order):
    while order[-1] == "":
        order.pop()
    return order


def padding(places, batch=2):
    mask = numpy.ones((batch, places), "int32")
    mask[-1, -2:] = 0
    return mask


MASKS = ["", "padding", "lengths", "rows", "scores", "both"]


def masked(mask, shapes, whole, places, name="mask"):
    """Adds the inputs for a kind of mask: the places that are seen, as an input of this name, and
    scores that are added."""
    if mask in ("padding", "both"):
        whole[name] = padding(places)
    if mask == "lengths":
        whole[name] = numpy.array([places, places - 2], "int32")
    if mask == "rows":
        whole[name] = RNG.integers(0, 2, (2, 5, places)).astype("int32")
        whole[name][:, :, 0] = 1
    if mask in ("scores", "row", "both"):
        shapes["scores"] = (1, 1, 5, places) if mask == "row" else (2, 2, 5, places)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("mask", MASKS + ["row"])
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("past", [0, 3])
def test_multi_head_attention(tmp_path, bias, mask, causal, past):
    if bias and mask in ("scores", "row", "both"):
        pytest.skip("ONNX Runtime's CPU kernel is compared without both")
    shapes, whole = {"q": (2, 5, 8), "k": (2, 7, 8), "v": (2, 7, 6)}, {}
    if causal or past:
        shapes |= {"k": (2, 5, 8), "v": (2, 5, 6)}
    if past:
        shapes["v"] = (2, 5, 8)
        shapes |= {"past_key": (2, 2, past, 4), "past_value": (2, 2, past, 4)}
    places = shapes["k"][1] + past
    if bias:
        shapes["bias"] = (24 if past else 22,)
    masked(mask, shapes, whole, places, "padding")
    names = "q k v bias padding scores past_key past_value".split()
    order = trimmed([n if n in shapes or n in whole else "" for n in names])
    outputs = ("y", "key", "value") if past else ("y",)
    attributes = {"num_heads": 2, "unidirectional": causal}
    compared(tmp_path, "MultiHeadAttention", shapes, order, outputs, whole, **attributes)


def test_multi_head_attention_to_keys_by_heads(tmp_path):
    shapes = {"q": (2, 5, 8), "k": (2, 2, 7, 4), "v": (2, 2, 7, 4)}
    compared(tmp_path, "MultiHeadAttention", shapes, ["q", "k", "v"], num_heads=2)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("past", [None, 0, 3])
def test_attention(tmp_path, mask, causal, past):
    if past and mask in ("scores", "both"):
        pytest.skip("ONNX Runtime has not both")
    shapes, whole = {"x": (2, 5, 6), "w": (6, 24), "bias": (24,)}, {}
    if past:
        shapes["past"] = (2, 2, 2, past, 4)
    masked(mask, shapes, whole, 5 + (past or 0))
    names = "x w bias mask past scores".split()
    order = trimmed([n if n in shapes or n in whole else "" for n in names])
    outputs = ("y",) if past is None else ("y", "present")
    attributes = {"num_heads": 2, "unidirectional": causal}
    compared(tmp_path, "Attention", shapes, order, outputs, whole, **attributes)


def test_attention_with_values_of_another_size(tmp_path):
    shapes = {"x": (2, 5, 6), "w": (6, 28), "bias": (28,)}
    attributes = {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 12], "scale": 0.3}
    compared(tmp_path, "Attention", shapes, list(shapes), **attributes)


@pytest.mark.parametrize("mask", MASKS[:3])
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("past", [0, 3])
def test_attention_of_quantized_numbers(tmp_path, mask, causal, columns, past):
    shapes = {"bias": (24,)}
    whole = {
        "x": RNG.integers(0, 256, (2, 5, 6)).astype("uint8"),
        "w": RNG.integers(-127, 128, (6, 24)).astype("int8"),
        "x_scale": numpy.float32(0.01),
        "w_scale": RNG.uniform(0.004, 0.01, (24,) if columns else ()).astype("float32"),
        "x_zero": numpy.uint8(120),
        "w_zero": numpy.zeros((24,) if columns else (), "int8"),
    }
    masked(mask, shapes, whole, 5 + past)
    if past:
        shapes["past"] = (2, 2, 2, past, 4)
    names = "x w bias x_scale w_scale mask x_zero w_zero past".split()
    order = trimmed([n if n in shapes or n in whole else "" for n in names])
    attributes = {"num_heads": 2, "unidirectional": causal}
    outputs = ("y", "present") if past else ("y",)
    held = ["w", "w_scale", "w_zero"]
    compared(tmp_path, "QAttention", shapes, order, outputs, whole, fixed=held, **attributes)


@pytest.mark.parametrize("segments", [False, True])
@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("positions", [None, 1, 2])
def test_embedding(tmp_path, segments, mask, positions):
    shapes = {"words": (11, 8), "rows": (9, 8), "scale": (8,), "shift": (8,)}
    whole = {"ids": RNG.integers(0, 11, (2, 5)).astype("int32")}
    if segments:
        shapes["kinds"] = (3, 8)
        whole["segments"] = RNG.integers(0, 3, (2, 5)).astype("int32")
    if mask:
        whole["mask"] = padding(5)
    if positions:
        whole["positions"] = RNG.integers(0, 9, (positions, 5)).astype("int32")
    names = "ids segments words rows kinds scale shift mask positions".split()
    order = trimmed([n if n in shapes or n in whole else "" for n in names])
    outputs = ("y", "count", "sum") if mask else ("y", "", "sum")
    kinds = {"count": 6}
    compared(
        tmp_path,
        "EmbedLayerNormalization",
        shapes,
        order,
        outputs,
        whole,
        kinds=kinds,
        epsilon=1e-5,
    )


@pytest.mark.parametrize("axes", [3, 4])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("part", [False, True])
def test_rotary_embedding(tmp_path, axes, first, interleaved, part):
    half = 2 if part else 4
    shapes = {
        "x": (2, 5, 16) if axes == 3 else (2, 2, 5, 8),
        "cos": (9, half),
        "sin": (9, half),
    }
    at = RNG.integers(0, 9, (2, 5)) if not first else numpy.array([3])
    attributes = {"interleaved": interleaved}
    if part:
        attributes |= {"num_heads": 2, "rotary_embedding_dim": 4}
    order = ["x", "at", "cos", "sin"]
    compared(tmp_path, "RotaryEmbedding", shapes, order, whole={"at": at}, **attributes)


@pytest.mark.parametrize("batch, new, past, places", [(1, 5, 0, 0), (1, 1, 4, 4), (1, 1, 4, 9)])
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize(
    "form",
    [{}, {"packed"}, {"rotary"}, {"rotary", "interleaved"}, {"window"}, {"softcap"}, {"bias"}],
)
def test_group_query_attention(tmp_path, batch, new, past, places, groups, form):
    total = past + new
    grouped(tmp_path, batch, new, [past] * batch, places, groups, form, max(places, total))


@pytest.mark.parametrize("form", [{}, {"rotary"}, {"window"}])
def test_group_query_attention_of_different_lengths(tmp_path, form):
    grouped(tmp_path, 3, 1, [2, 4, 6], 9, 2, form, 9)


@pytest.mark.parametrize("form", [{}, {"rotary"}])
def test_group_query_attention_to_padded_prompts(tmp_path, form):
    grouped(tmp_path, 3, 6, [0, 0, 0], 0, 2, form, 6, [6, 3, 1])


def grouped(folder, batch, new, past, places, groups, form, present, seen=None):
    """Compares a GroupQueryAttention in both runtimes. `past`: for each batch, the number of places
    before the new ones; `places`: the number of places for which the cache has room."""
    heads, n, total = 4, 16, max(past) + new
    shapes, whole = {"q": (batch, new, heads * n)}, {}
    if "packed" in form:
        shapes["q"] = (batch, new, (heads + 2 * groups) * n)
    else:
        shapes |= {"k": (batch, new, groups * n), "v": (batch, new, groups * n)}
    if places:
        shapes |= {name: (batch, groups, places, n) for name in ("past_key", "past_value")}
    lengths = seen or [p + new for p in past]
    whole["seqlens"] = numpy.array(lengths, "int32") - 1
    whole["total"] = numpy.array(total, "int32")
    if "rotary" in form:
        shapes |= {"cos": (16, n // 2), "sin": (16, n // 2)}
    if "bias" in form:
        shapes["bias"] = (1, heads, new, present)
        total = present
        if total != max(past) + new:
            pytest.skip("ONNX Runtime takes a bias for as many places as there are in all")
    names = "q k v past_key past_value seqlens total cos sin positions bias".split()
    order = trimmed([name if name in shapes or name in whole else "" for name in names])
    attributes = {"num_heads": heads, "kv_num_heads": groups}
    attributes |= {"do_rotary": 1} if "rotary" in form else {}
    attributes |= {"rotary_interleaved": 1} if "interleaved" in form else {}
    attributes |= {"local_window_size": 3} if "window" in form else {}
    attributes |= {"softcap": 0.5} if "softcap" in form else {}
    outputs = ("y", "key", "value")
    valid = [lengths[b] for b in range(batch)]
    compared(
        folder,
        "GroupQueryAttention",
        shapes,
        order,
        outputs,
        whole,
        fixed=["total"],
        valid=valid,
        **attributes,
    )
