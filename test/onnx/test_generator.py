"""Computes both sides of rules of generate-rules by numpy in float64, with a reader and an
evaluator that share no code with the generator.

Every rule is tried at four random sets of sizes that satisfy the requirements of its types,
attributes and operators; both sides must give the same.
"""

import itertools, os, random, re, subprocess
import numpy as np
import pytest

BUILD = os.environ.get("ISOMER_BUILD", "build")
SETS = {"taso": 3, "elementwise": 3, "attention": 3, "cnn": 3}


# ---- reading


def read_rules(text):
    """Yields (name, inputs, lines of the left side, lines of the right side) for each rule. A rule
    with axis blocks gives one for each length n of the blocks, named NAME/n."""
    for block in text.strip().split("\n\n"):
        lines = block.split("\n")
        name = lines[0].split()[1]
        axes = re.match(r"  axes ([\w ]+) = (\d)\.\.(\d)$", lines[1])
        if axes:  # a rule for each length of the axis blocks
            for n in range(int(axes[2]), int(axes[3]) + 1):
                short = [
                    re.sub(
                        "|".join(rf"\b{b}\.\." for b in axes[1].split()),
                        lambda m: ", ".join(f"{m[0][0]}{k + 90}" for k in range(n)),
                        x,
                    )
                    for x in lines[2:]
                ]
                short = [re.sub(r"\[, ", "[", re.sub(r", (?=[,\]])", "", x)) for x in short]
                yield from read_rules("\n".join([f"rule {name}/{n}"] + short))
            continue
        start, end = lines.index("from"), lines.index("to")
        inputs = re.findall(r"%(\w+) : F \[([^\]]*)\]", "\n".join(lines[1:start]))
        yield name, [
            (n, [d.strip() for d in dims.split(",")] if dims else []) for n, dims in inputs
        ], lines[start + 1 : end], lines[end + 1 :]


def read_line(line):
    """A line of a rule: (names of the results, operator, names of the operands, attributes)."""
    left, right = line.strip().split(" = ", 1)
    op, rest = right.split(" ", 1) if " " in right else (right, "")
    attrs = {k: v for k, v in re.findall(r"(\w+)=(\[[^\]]*\]|\S+)", rest)}
    args = re.findall(r"%(\w+)", re.sub(r"\w+=(\[[^\]]*\]|\S+)", "", rest))
    return re.findall(r"%(\w+)", left), op, args, attrs


class Unfit(Exception):
    """Raised if sizes do not satisfy the requirements of a rule."""


def number(text, sizes):
    v = eval(
        text.replace("^", "**").replace("floor", "int"),
        {"__builtins__": {}, "int": lambda x: int(np.floor(x)), "min": min},
        dict(sizes),
    )
    return v


def integers(text, sizes):
    return [int(number(x, sizes)) for x in text.strip("[]").split(",") if x.strip()]


# ---- operators


def need(condition):
    if not condition:
        raise Unfit


def windows(x, kernel, strides, pads, dilations, fill):
    """The windows of x: from [n, c, spatial..] to [n, c, out.., kernel..]."""
    k = len(kernel)
    x = np.pad(
        x, [(0, 0), (0, 0)] + [(pads[j], pads[j + k]) for j in range(k)], constant_values=fill
    )
    out = [
        (x.shape[j + 2] - dilations[j] * (kernel[j] - 1) - 1) // strides[j] + 1 for j in range(k)
    ]
    need(all(x.shape[j + 2] >= dilations[j] * (kernel[j] - 1) + 1 for j in range(k)))
    y = np.empty(x.shape[:2] + tuple(out) + tuple(kernel))
    for place in itertools.product(*(range(n) for n in kernel)):
        part = tuple(
            slice(
                dilations[j] * place[j],
                dilations[j] * place[j] + strides[j] * (out[j] - 1) + 1,
                strides[j],
            )
            for j in range(k)
        )
        y[(Ellipsis,) + place] = x[(slice(None), slice(None)) + part]
    return y


def lists(a, sizes, spatial):
    get = lambda name, default: integers(a[name], sizes) if name in a else default
    s, p, d = (
        get("strides", [1] * spatial),
        get("pads", [0] * 2 * spatial),
        get("dilations", [1] * spatial),
    )
    need(
        len(s) == spatial
        and len(p) == 2 * spatial
        and len(d) == spatial
        and min(s + d) >= 1
        and min(p) >= 0
    )
    return s, p, d


def conv(x, a, sizes):
    image, w = x[0], x[1]
    group = int(number(a.get("group", "1"), sizes))
    need(
        group >= 1
        and image.shape[1] == group * w.shape[1]
        and w.shape[0] % group == 0
        and w.ndim == image.ndim
    )
    k = image.ndim - 2
    v = windows(image, w.shape[2:], *lists(a, sizes, k), 0.0)
    per, out = w.shape[0] // group, []
    for g in range(group):
        part = v[:, g * w.shape[1] : (g + 1) * w.shape[1]]
        axes = [1] + list(range(2 + k, 2 + 2 * k))
        out.append(
            np.moveaxis(
                np.tensordot(
                    part, w[g * per : (g + 1) * per], axes=(axes, [1] + list(range(2, 2 + k)))
                ),
                -1,
                1,
            )
        )
    y = np.concatenate(out, axis=1)
    if len(x) > 2:
        need(x[2].shape == (w.shape[0],))
        y = y + x[2].reshape((-1,) + (1,) * k)
    return y


def pool(x, a, sizes, kind):
    kernel = integers(a["kernel"], sizes)
    s, p, d = lists(a, sizes, x[0].ndim - 2)
    need(len(kernel) == x[0].ndim - 2 and min(kernel) >= 1)
    axes = tuple(range(-len(kernel), 0))
    if kind == "max":
        v = windows(x[0], kernel, s, p, d, -np.inf)
        need(v.size == 0 or np.all(np.isfinite(v.max(axis=axes))))
        return v.max(axis=axes)
    assert a.get("count_pads") == "yes"
    return windows(x[0], kernel, s, p, d, 0.0).mean(axis=axes)


def trailing(x):
    """Checks that only missing leading axes are broadcast."""
    short = min(x, key=np.ndim)
    need(all(v.shape[v.ndim - short.ndim :] == short.shape for v in x))
    return x


def concat(x, a, sizes):
    axis = int(a["axis"])
    need(
        all(
            v.ndim == x[0].ndim
            and np.delete(v.shape, axis).tolist() == np.delete(x[0].shape, axis).tolist()
            for v in x
        )
    )
    return np.concatenate(x, axis=axis)


def split(x, a, sizes):
    axis, parts = int(a.get("axis", "0")), integers(a["sizes"], sizes)
    need(min(parts) >= 0 and sum(parts) == x[0].shape[axis])
    return np.split(x[0], np.cumsum(parts)[:-1], axis=axis)


def pad(x, a, sizes):
    p = integers(a["pads"], sizes)
    need(len(p) == 2 * x[0].ndim)
    return np.pad(x[0], [(p[j], p[j + x[0].ndim]) for j in range(x[0].ndim)])


def matmul(x, a, sizes):
    need(
        x[0].shape[-1] == x[1].shape[-2]
        and (min(v.ndim for v in x) == 2 or x[0].shape[:-2] == x[1].shape[:-2])
    )
    return x[0] @ x[1]


def softmax(x, a, sizes):
    axis = int(a.get("axis", "-1"))
    e = np.exp(x[0] - x[0].max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def unary(f):
    return lambda x, a, sizes: f(x[0])


def binary(f):
    return lambda x, a, sizes: f(*trailing(x))


OPS = {
    "conv": conv,
    "matmul": matmul,
    "concat": concat,
    "split": split,
    "pad": pad,
    "softmax": softmax,
    "maxpool": lambda x, a, s: pool(x, a, s, "max"),
    "averagepool": lambda x, a, s: pool(x, a, s, "mean"),
    "transpose": lambda x, a, s: np.transpose(x[0], integers(a["perm"], s)),
    "reduce_sum": lambda x, a, s: x[0].sum(axis=tuple(integers(a["axes"], s))),
    "reduce_mean": lambda x, a, s: x[0].mean(axis=tuple(integers(a["axes"], s))),
    "fill": lambda x, a, s: np.full(
        integers(a["shape"], s), number(a.get("value", "0"), s), dtype=float
    ),
    "band": lambda x, a, s: np.eye(int(number(a["n"], s))),
    "add": binary(np.add),
    "sub": binary(np.subtract),
    "mul": binary(np.multiply),
    "div": binary(np.divide),
    "max": binary(np.maximum),
    "min": binary(np.minimum),
    "neg": unary(np.negative),
    "abs": unary(np.abs),
    "relu": unary(lambda v: np.maximum(v, 0)),
    "exp": unary(np.exp),
    "log": unary(np.log),
    "sqrt": unary(np.sqrt),
    "reciprocal": unary(lambda v: 1 / v),
    "sigmoid": unary(lambda v: 1 / (1 + np.exp(-v))),
    "tanh": unary(np.tanh),
}


def compute(side, inputs, sizes):
    """The outputs of one side of a rule."""
    env = dict(inputs)
    for line in side:
        if line.split()[0] == "out":
            return [env[n] for n in re.findall(r"%(\w+)", line)]
        results, op, args, attrs = read_line(line)
        y = OPS[op]([env[n] for n in args], attrs, sizes)
        env.update(zip(results, y if isinstance(y, list) else [y]))
    raise AssertionError("a side without out")


# ---- rules


def names(inputs, sides):
    """The names in a rule: those of sizes, and those of lists."""
    text = (
        " ".join(d for _, dims in inputs for d in dims)
        + " "
        + " ".join(re.findall(r"=(\[[^\]]*\]|\S+)", " ".join(sides)))
    )
    return sorted(set(re.findall(r"\b[a-z]\d*\b", text))), sorted(
        set(re.findall(r"\b[A-Z]\d*\b", text))
    )


def draw(random, inputs, sides, lengths):
    """Random sizes, and the lines of a rule with its names of lists replaced by random lists."""
    small, free = names(inputs, sides)
    sizes = {n: random.randint(1, 4) for n in small}
    values = {
        n: f"[{', '.join(str(random.randint(1, 2)) for _ in range(lengths[n]))}]" for n in free
    }
    bound = [re.sub(r"=([A-Z]\d*)\b", lambda m: "=" + values[m[1]], line) for line in sides]
    return sizes, bound


def check(name, inputs, left, right, seed):
    r, g = random.Random(seed), np.random.default_rng(seed)
    rank = max((len(d) for _, d in inputs), default=0)
    lengths = {
        n: 2 * (rank - 2) if n[0] == "P" else rank - 2 for n in names(inputs, left + right)[1]
    }
    done = 0
    for _ in range(3000):
        if done == 4:
            break
        sizes, bound = draw(r, inputs, left + right, lengths)
        try:
            shapes = [tuple(int(number(d, sizes)) for d in dims) for _, dims in inputs]
            need(all(d >= 1 for s in shapes for d in s))
            x = {n: g.normal(size=s) for (n, _), s in zip(inputs, shapes)}
            with np.errstate(all="ignore"):
                a, b = compute(bound[: len(left)], x, sizes), compute(bound[len(left) :], x, sizes)
        except Unfit:
            continue
        assert [v.shape for v in a] == [v.shape for v in b], name
        for u, v in zip(a, b):
            both = np.isfinite(u) & np.isfinite(v) & (np.abs(u) < 1e12)
            assert np.allclose(u[both], v[both], rtol=1e-9, atol=1e-9), (name, sizes)
            assert np.array_equal(np.isfinite(u), np.isfinite(v)), (name, sizes)
        done += 1
    return done


def generate(*options, program=None, timeout=280):
    run = subprocess.run(
        [*(program or [f"{BUILD}/generate-rules"]), *map(str, options), "-q"],
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def proved(text, names, folder):
    """The rules with these names that verify-rules proves without adding a condition."""
    blocks = {b.split()[1]: b for b in text.strip().split("\n\n")}
    file = folder / "doubtful.rules"
    file.write_text("\n\n".join(blocks[n] for n in names) + "\n")
    run = subprocess.run(
        [f"{BUILD}/verify-rules", "--no-preconditions", str(file)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return {line.split()[2] for line in run.stdout.split("\n") if line.startswith("PROVED")}


@pytest.mark.parametrize("name", sorted(SETS))
def test_rules_hold_in_float64(name, tmp_path):
    """Every rule of size 3 holds at four sets of sizes, except a few, of which the prover proves
    none without a condition."""
    text = generate("--ops", f"generator/sets/{name}.set", "--size", SETS[name])
    rules, false, tried = list(read_rules(text)), set(), []
    assert len(rules) > 300
    for n, inputs, left, right in rules:
        try:
            tried.append((n, check(n, inputs, left, right, 1)))
        except AssertionError:
            false.add(n.split("/")[0])
    assert len(false) < 0.01 * len(rules)
    assert not proved(text, sorted(false), tmp_path)
    assert sum(t > 0 for _, t in tried) > 0.99 * len(tried), [n for n, t in tried if not t]


def test_a_wrong_rule_is_noticed():
    inputs = [("x1", ["a", "b"]), ("x2", ["b", "a"])]
    with pytest.raises(AssertionError):
        check(
            "wrong",
            inputs,
            ["  %1 = matmul %x1 %x2", "  out %1"],
            ["  %1 = add %x1 %x1", "  %2 = matmul %1 %x2", "  out %2"],
            1,
        )
    with pytest.raises(AssertionError):
        check("wrong", [("x1", ["a"])], ["  %1 = relu %x1", "  out %1"], ["  out %x1"], 1)


NO_PART = """sizes m n
at 3 2
at 2 5
input rows : F [m, n]
input column : F [m]
op concat axis=1 : rows rows
op softmax : rows
op reduce_sum axes=[1] : rows -> column
op fill value=1 shape=[m] : -> column
"""


def test_sizes_that_are_0_together_are_a_condition(tmp_path):
    """The sum of a softmax is 1, unless there is nothing to sum. For a tensor this is if one size
    is 0, and for a concatenation if two sizes are 0 at the same time."""
    (tmp_path / "no_part.set").write_text(NO_PART)
    rules = [
        r
        for r in generate("--ops", tmp_path / "no_part.set", "--size", 3).split("\n\n")
        if "fill" in r
    ]
    assert [r.rstrip().split("\n")[-1] for r in rules] == ["where b >= 1", "where b + c >= 1"]


# ---- errors


@pytest.mark.parametrize(
    "options, message, code",
    [
        (["--ops", "no/such.set", "--size", "2"], "cannot read", 5),
        (["--ops", "generator/sets/taso.set", "--size", "0"], "--size", 2),
        (["--ops", "generator/sets/taso.set", "--size", "99"], "--size", 2),
        (["--ops", "generator/sets/taso.set"], "the number of operators, from 1 to 5", 2),
        (["--size", "2"], "the operator set", 2),
        (
            ["--ops", "generator/sets/taso.set", "--size", "1", "--memory-limit", "many"],
            'expects a size such as 500M or 8G, not "many"',
            2,
        ),
        (["--ops", "generator/sets/taso.set", "--size", "1", "--shard", "2/2"], "0 <= I < N", 2),
        (
            ["--ops", "generator/sets/taso.set", "--size", "1", "-o", "/dev/full"],
            "No space left",
            5,
        ),
        (["--ops", "generator/sets", "--size", "1"], "cannot read", 5),
        (
            ["--ops", "generator/sets/taso.set", "--size", "1", "--resume", "/dev/null"],
            "cannot create the folder",
            5,
        ),
        (["--ops", "generator/sets/taso.set", "--size", "1", "--jobs", "0"], "--jobs", 2),
    ],
)
def test_errors_are_clear(options, message, code):
    run = subprocess.run(
        [f"{BUILD}/generate-rules", *options], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == code, run.stderr
    assert message in run.stderr
