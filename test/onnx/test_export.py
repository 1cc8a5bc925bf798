"""The program export-rules: what it writes in each format can be read back, and no rule without a
valid verdict is ever exported."""

import json, os, re, subprocess
import numpy, onnxruntime, pytest
from small_models import SQUARED

BUILD = os.environ.get("ISOMER_BUILD", "build")
PROGRAM = os.path.join(BUILD, "export-rules")
SEAL = os.path.join(BUILD, "test", "tools", "seal_rules")
VERIFY = os.path.join(BUILD, "verify-rules")
LIBRARY = sorted(os.path.join("rules/library", name) for name in os.listdir("rules/library"))
SEARCH = ["rules/generated/search/gains.rules"]


def run(*arguments):
    return subprocess.run(
        [PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=250,
    )


def exported(out, *arguments):
    """Runs export-rules, which must succeed, and returns its messages."""
    done = run("-o", out, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "rules.json"
    assert "not proved: " not in exported(path, "--format", "json")
    return path


UNPROVED = "rule pow-square\n" + SQUARED


@pytest.mark.parametrize("format", ["json", "taso", "egglog"])
def test_what_cannot_be_written_is_refused_before_the_work(tmp_path, format):
    rules, lost = tmp_path / "r.rules", tmp_path / "no" / "file"
    rules.write_text(UNPROVED)
    done = run(rules, "-o", lost, "--format", format)
    assert done.returncode == 5 and "left out" not in done.stderr, done.stderr
    assert str(lost) in done.stderr and "cannot write" in done.stderr


# ---- json


def validate(x, schema, root, where="$"):
    """Checks a value by a schema. Only the part of JSON Schema that rules.schema.json uses is
    implemented."""
    known = {
        "$schema",
        "title",
        "$defs",
        "$ref",
        "anyOf",
        "enum",
        "type",
        "pattern",
        "required",
        "properties",
        "additionalProperties",
        "items",
    }
    assert set(schema) <= known, where
    if "$ref" in schema:
        return validate(x, root["$defs"][schema["$ref"].split("/")[-1]], root, where)
    if "anyOf" in schema:
        for option in schema["anyOf"]:
            try:
                return validate(x, option, root, where)
            except AssertionError:
                pass
        assert False, where
    if "enum" in schema:
        assert x in schema["enum"], where
        return
    types = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
    assert type(x) is types[schema["type"]], where
    if "pattern" in schema:
        assert re.search(schema["pattern"], x), f"{where}: {x}"
    if type(x) is list:
        for k, item in enumerate(x):
            validate(item, schema["items"], root, f"{where}[{k}]")
    if type(x) is dict:
        more, properties = schema.get("additionalProperties", True), schema.get("properties", {})
        assert set(schema.get("required", [])) <= set(x), where
        for name, item in x.items():
            assert name in properties or more is not False, f"{where}.{name}"
            validate(item, properties.get(name, more), root, f"{where}.{name}")


def test_json_schema(whole):
    schema = json.load(open("rules/rules.schema.json"))
    document = json.load(open(whole))
    validate(document, schema, schema)
    assert len(document["rules"]) == sum(
        open(path).read().count("\nproved ") for path in LIBRARY + SEARCH
    )
    used = {n["operator"] for r in document["rules"] for s in ("from", "to") for n in r[s]["nodes"]}
    assert used == {o["name"] for o in document["operators"]}
    broken = json.loads(json.dumps(document))
    broken["rules"][3]["proof"]["digest"] = "0"
    with pytest.raises(AssertionError):
        validate(broken, schema, schema)


def value(name):
    return "%" + name if re.fullmatch(r"[\w.-]+", name) else '%"' + name + '"'


def side_text(side):
    """The lines of one side of a rule in the JSON file."""
    for n in side["nodes"]:
        words = (
            [value(r) for r in n["results"]]
            + ["=", n["operator"]]
            + [i if i == "_" else value(i) for i in n["inputs"]]
        )
        for name, x in n["attributes"].items():
            words.append(f"{name}={x}" if isinstance(x, str) else f"{name}=[{', '.join(x)}]")
        yield "  " + " ".join(words)
    yield "  out " + " ".join(map(value, side["outputs"]))


def rule_text(r):
    """A rule of the JSON file in the notation of rules/README.md."""
    lines = (
        [f"# {line}" if line else "" for line in r["section"].split("\n")[:-1]] + [""]
        if r["section"]
        else []
    )
    lines += [f"# {line}" for line in r["comment"].split("\n")[:-1]]
    lines.append(f"rule {r['name']}")
    if r["axes"]:
        span = lambda g: (
            f"{g['least']}" if g["least"] == g["most"] else f"{g['least']}..{g['most']}"
        )
        lines.append(
            "  axes " + ", ".join(f"{' '.join(g['blocks'])} = {span(g)}" for g in r["axes"])
        )
    if r["inputs"]:
        lines.append(
            "  "
            + " ".join(
                f"{value(i['name'])} : {i['element']} [{', '.join(i['shape'])}]"
                for i in r["inputs"]
            )
        )
    lines += ["from", *side_text(r["from"]), "to", *side_text(r["to"])]
    if r["where"]:
        lines.append("where " + ", ".join(r["where"]))
    p = r["proof"]
    covers = f"all=[{', '.join(b + '..' for b in p['all'])}] " if p["all"] else ""
    lines.append(
        f"proved class={p['class']} {covers}where=[{', '.join(p['where'])}] defs={p['definitions']}"
        f" digest={p['digest']}"
    )
    return "\n".join(lines) + "\n"


def squeezed(text):
    """The text of rules without comments, and without blanks and line ends, which mean nothing
    inside a rule."""
    return re.sub(r"\s+", "", re.sub(r"(?m)^\s*#.*$", "", text))


def test_json_is_lossless(whole, tmp_path):
    files = {}
    for r in json.load(open(whole))["rules"]:
        files.setdefault(r["source"], []).append(rule_text(r))
    paths = []
    for path in LIBRARY + SEARCH:
        text = "\n".join(files.pop(os.path.basename(path)))
        assert squeezed(text) == squeezed(open(path).read()), path
        paths.append(tmp_path / os.path.basename(path))
        paths[-1].write_text(text)
    assert not files
    exported(tmp_path / "again.json", "--format", "json", *paths)
    assert (tmp_path / "again.json").read_bytes() == whole.read_bytes()


def test_deterministic(whole, tmp_path):
    exported(tmp_path / "again.json", "--format", "json")
    assert (tmp_path / "again.json").read_bytes() == whole.read_bytes()


# ---- taso


def counts(message):
    """The numbers in the last line of the message: all rules, those selected, not selected, not
    proved and written, the entries that were written for them, and the rules that the format cannot
    express."""
    return [int(n) for n in re.findall(r"\d+", message.splitlines()[-1])]


def proved_as_they_stand(path):
    """The last line of verify-rules about a file, without adding conditions."""
    done = subprocess.run(
        [VERIFY, "-q", "--no-preconditions", path], capture_output=True, text=True, timeout=250
    )
    return done.stdout.splitlines()[-1]


def test_taso_of_the_library(tmp_path):
    out = tmp_path / "rules.pb"
    _, chosen, _, _, rules, written, lost = counts(exported(out, "--format", "taso"))
    assert written > 150 and chosen - lost == rules > 130
    assert (
        proved_as_they_stand(out) == f"{written} proved (0 under a condition), 0 refuted, 0 unknown"
    )
    exported(tmp_path / "again.pb", "--format", "taso")
    assert (tmp_path / "again.pb").read_bytes() == out.read_bytes()


def test_taso_comes_back(tmp_path):
    """Of TASO's 133 rules, 4 are wrong, and 7 need a condition that TASO's format cannot express.
    Each of the others comes back once."""
    verified, out = tmp_path / "taso.rules", tmp_path / "out.pb"
    subprocess.run(
        [VERIFY, "-q", "test/cases/taso/graph_subst.pb", "-o", verified],
        capture_output=True,
        timeout=250,
    )
    assert counts(exported(out, "--format", "taso", verified)) == [133, 129, 0, 4, 122, 119, 7]
    assert proved_as_they_stand(out) == "119 proved (0 under a condition), 0 refuted, 0 unknown"
    again = tmp_path / "again.rules"
    subprocess.run([VERIFY, "-q", out, "-o", again], capture_output=True, timeout=250)
    exported(tmp_path / "a.json", "--format", "json", verified)
    exported(tmp_path / "b.json", "--format", "json", again)
    ids = lambda path, condition: {
        r["id"] for r in json.load(open(path))["rules"] if bool(r["proof"]["where"]) == condition
    }
    assert ids(tmp_path / "b.json", False) == ids(tmp_path / "a.json", False)


# ---- onnx

# Relative to the greatest element of an output. For exact rules it is 1e-6, not 0, since a runtime
# may add in another order at another size.
TOLERANCE = 1e-5
LIMITS = [
    "X_shape.NumDimensions() == 4 was false",
    "Pad should be smaller than kernel",
    "must be less than max(stride, dilation)",  # about output padding
    "Could not find an implementation for EyeLike(22)",
]  # messages about limits of ONNX Runtime
ELEMENTS = {
    "F": numpy.float32,
    "I64": numpy.int64,
    "I32": numpy.int32,
    "B": numpy.bool_,
    "U8": numpy.uint8,
    "I8": numpy.int8,
}


def drawn(entry, seed):
    """Random inputs: floats from 0.1 to 1.1, of which one in four is negative, except in a
    variance; integers are the indices 0 and 1."""
    random, feed = numpy.random.default_rng(seed), {}
    for i in entry["inputs"]:
        x = random.uniform(0.1, 1.1, i["shape"]) * numpy.where(
            (random.random(i["shape"]) < 0.25) & (i["name"] not in ("v", "var")), -1, 1
        )
        feed[i["name"]] = numpy.asarray(
            x if i["element"] == "F" else random.integers(0, 2, i["shape"]), ELEMENTS[i["element"]]
        )
    return feed


def results(path, feed):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    assert {i.name: list(i.shape) for i in session.get_inputs()} == {
        name: list(x.shape) for name, x in feed.items()
    }, path
    return session.run(None, feed)


def difference(folder, entry, seed):
    """The greatest difference between both sides, relative to the greatest element of the output,
    or None if ONNX Runtime does not run one of them."""
    feed, most = drawn(entry, seed), 0
    try:
        pair = [results(os.path.join(folder, entry[side]), feed) for side in ("from", "to")]
    except Exception as e:
        assert any(limit in str(e) for limit in LIMITS), f"{entry['from']}: {e}"
        return None
    assert len(pair[0]) == len(pair[1]) > 0
    for x, y in zip(*pair):
        assert x.shape == y.shape and x.dtype == y.dtype and x.size, entry["from"]
        assert (numpy.isfinite(x) == numpy.isfinite(y)).all(), entry["from"]
        x, y = (z[numpy.isfinite(x)].astype(float) for z in (x, y))
        if x.size:
            most = max(most, abs(x - y).max() / max(abs(x).max(), 1e-30))
    return most


def test_onnx_of_the_library(tmp_path):
    folder = tmp_path / "models"
    said = exported(folder, "--format", "onnx", *LIBRARY)
    _, chosen, _, _, rules, written, lost = counts(said)
    left = re.findall(r"(\d+) left out, not expressible", said)
    reasons = re.findall(
        r"(\d+) left out, not expressible: a new node (band|eyelike|ramp) cannot", said
    )
    assert chosen - rules == lost
    # These rules need sizes that no value has.
    assert sum(int(n) for n, _ in reasons) == sum(map(int, left))
    index = json.load(open(folder / "index.json"))
    models = index["models"]
    assert len(models) == written > 400 and lost
    assert sorted(os.listdir(folder)) == sorted(
        [m[s] for m in models for s in ("from", "to")] + ["index.json"]
    )
    refused = 0
    for k, entry in enumerate(models):
        found = difference(folder, entry, k)
        refused += found is None
        if found is not None:
            assert found <= (
                1e-6 if entry["class"] == "exact" else TOLERANCE
            ), f"{entry['from']}: {found}"
    # LRN of other ranks, pooling with padding larger than the kernel, output padding larger than
    # the stride, an identity.
    assert refused == 31


def test_onnx_shows_a_false_rule(tmp_path):
    forged(tmp_path)
    exported(tmp_path / "models", "--format", "onnx", tmp_path / "sealed.rules")
    (entry,) = json.load(open(tmp_path / "models" / "index.json"))["models"]
    assert difference(tmp_path / "models", entry, 1) > 0.1


def test_onnx_folder(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    exported(a, "--format", "onnx", "rules/library/merge.rules")
    b.mkdir()
    exported(b, "--format", "onnx", "rules/library/merge.rules")
    assert sorted(os.listdir(a)) == sorted(os.listdir(b))
    assert all((a / name).read_bytes() == (b / name).read_bytes() for name in os.listdir(a))
    again = run("-o", a, "--format", "onnx", "rules/library/pool.rules")
    assert again.returncode == 5 and f"{a}: cannot create the folder" in again.stderr
    assert "it already exists and is not an empty folder; name a new one" in again.stderr
    assert sorted(os.listdir(tmp_path)) == ["a", "b"] and sorted(os.listdir(a)) == sorted(
        os.listdir(b)
    )


# ---- what is chosen


def names(path):
    return [r["name"] for r in json.load(open(path))["rules"]]


def test_filters(whole, tmp_path):
    rules, out = json.load(open(whole))["rules"], tmp_path / "some.json"
    exported(out, "--format", "json", "--class", "exact,divides")
    assert names(out) == [r["name"] for r in rules if r["proof"]["class"] in ("exact", "divides")]
    exported(out, "--format", "json", "--unconditional")
    assert names(out) == [r["name"] for r in rules if not r["where"] + r["proof"]["where"]]
    allowed = {"relu", "concat", "split", "add"}
    exported(out, "--format", "json", "--operators", ",".join(allowed))
    used = lambda r: {n["operator"] for s in ("from", "to") for n in r[s]["nodes"]}
    assert names(out) == [r["name"] for r in rules if used(r) <= allowed]
    assert names(out)
    listed = run("--list", "--class", "exact", "rules/library/merge.rules").stdout.splitlines()
    assert listed[0].split()[1:] == ["exact", "conv-merge-outputs"] and len(listed) == 5


# ---- what must never be handed on

GOOD = open("rules/library/merge.rules").read()
RULE = """rule planted
  %x : F [n]
from
  %y = relu %x
  out %y
to
  %y = neg %x
  out %y
"""


def forged(tmp_path, *defs):
    """The text of a false rule with a forged verdict whose digest fits."""
    (tmp_path / "open.rules").write_text(RULE)
    subprocess.run([SEAL, tmp_path / "open.rules", tmp_path / "sealed.rules", *defs], check=True)
    return (tmp_path / "sealed.rules").read_text()


PLANTED = {
    "no verdict": lambda t: RULE,
    "refuted": lambda t: RULE + "refuted\n",
    "neither proved nor refuted": lambda t: RULE + "unknown\n",
    "its verdict was not written by verify-rules": (
        lambda t: forged(t).replace("class=reassociates+rounds", "class=exact")
    ),
    "its verdict was not written by verify-rules for": (
        lambda t: forged(t).replace("relu %x", "abs %x")
    ),
    "its verdict was not written by verify-rules for this": (
        lambda t: forged(t).replace("where=[]", "where=[n >= 1]")
    ),
    "it was proved of another rule, or the definition of one of its operators": lambda t: forged(
        t, "0123456789abcdef0123456789abcdef"
    ),
}


@pytest.mark.parametrize("reason", PLANTED)
def test_never_exported(tmp_path, reason):
    path, out = tmp_path / "planted.rules", tmp_path / "out"
    path.write_text(PLANTED[reason](tmp_path) + "\n" + GOOD)
    message = exported(out, "--format", "json", path)
    assert "planted" not in names(out) and len(names(out)) == 5
    assert f"1 left out, not proved: {reason}" in message and "(first: planted)" in message
    out.unlink()
    strict = run("-o", out, "--format", "json", "--strict", path)
    assert (
        strict.returncode == 1
        and "1 of 6 rules has no valid verdict" in strict.stderr
        and not out.exists()
    )


def test_errors(tmp_path):
    corrupt = tmp_path / "corrupt.rules"
    corrupt.write_text(RULE + "proved class=exact where=[] defs=12 digest=34\n")
    cases = [
        (
            ["--format", "nonsense"],
            2,
            "unknown format nonsense; expected one of json, taso, onnx, egglog",
        ),
        ([], 2, "missing: the format"),
        (["--format", "json", "--class", "nearly"], 2, "--class: expects one or more of exact"),
        (["--format", "json", "--operators", "relu,frob"], 2, 'unknown operator "frob"'),
        (["--format", "json", tmp_path / "absent.rules"], 5, "absent.rules"),
        (["--format", "json", corrupt], 3, f"{corrupt}:9:1: expected defs= and digest="),
        (["--format", "json", "test/cases/taso/graph_subst.pb"], 3, "graph_subst.pb"),
    ]
    for arguments, status, message in cases:
        done = run("-o", tmp_path / "out", *arguments)
        assert (done.returncode, message in done.stderr) == (status, True), done.stderr
        assert not (tmp_path / "out").exists()
    assert run("--format", "json").returncode == 2
    unwritable = run("-o", tmp_path / "no" / "folder.json", "--format", "json")
    assert unwritable.returncode == 5 and "folder.json" in unwritable.stderr


# ---- names

NAMES = r"""rule twice
  axes h = 1..2
  %"$1" : F [n, h..]   %"a \"b" : F [n, h..]   %result_0 : F [n, h..]
from
  %s = add %"$1" %"a \"b"
  %t = add %s %result_0
  out %t
to
  %s = add %"a \"b" %result_0
  %t = add %"$1" %s
  out %t
where n >= 1 # rows, and more than that

rule twice-1
  %x : F [n]   %y : F [n]
from
  %t = add %x %y
  out %t
to
  %t = add %y %x
  out %t
"""


def test_names_of_any_kind(tmp_path):
    (tmp_path / "open.rules").write_text(NAMES)
    verified = [VERIFY, tmp_path / "open.rules", "-o", tmp_path / "r.rules"]
    done = subprocess.run(verified, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    exported(tmp_path / "r.json", tmp_path / "r.rules", "--format", "json")
    rule = json.loads((tmp_path / "r.json").read_text())["rules"][0]
    assert rule["where"] == ["n >= 1"]
    for instance in rule["instances"]:
        inputs = [x["name"] for x in instance["inputs"]]
        made = [r["name"] for node in instance["from"]["nodes"] for r in node["results"]]
        assert inputs == ["$1", 'a "b', "result_0"] and not set(inputs) & set(made)
    exported(tmp_path / "onnx", tmp_path / "r.rules", "--format", "onnx")
    entries = json.loads((tmp_path / "onnx" / "index.json").read_text())["models"]
    files = [entry[side] for entry in entries for side in ("from", "to")]
    assert len(files) == 6 == len(set(files)) and "twice@1.from.onnx" in files
    for entry in entries:
        feed = {
            x["name"]: numpy.random.default_rng(k).random(x["shape"], "float32")
            for k, x in enumerate(entry["inputs"])
        }
        one, two = (
            onnxruntime.InferenceSession(str(tmp_path / "onnx" / entry[side])).run(None, feed)[0]
            for side in ("from", "to")
        )
        assert numpy.allclose(one, two, rtol=1e-6)
    exported(tmp_path / "r.egg", tmp_path / "r.rules", "--format", "egglog")
    text = (tmp_path / "r.egg").read_text()
    text = re.sub(r'"[^"\n]*"', "", re.sub(r";.*", "", text))
    assert text.count("(") == text.count(")") and "x-a " not in text and "x-result_0" in text


def test_a_folder_named_with_a_slash(tmp_path):
    (tmp_path / "open.rules").write_text(NAMES)
    subprocess.run([VERIFY, tmp_path / "open.rules", "-o", tmp_path / "r.rules"], check=True)
    (tmp_path / "there").mkdir()
    for name in ("there/", "new/"):
        exported(f"{tmp_path}/{name}", tmp_path / "r.rules", "--format", "onnx")
        assert (tmp_path / name / "index.json").exists()
