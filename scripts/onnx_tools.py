"""Shared by the Python tools, including those that optimize-model starts: the options that describe
a feed, inputs drawn from it, sessions of ONNX Runtime, and tables of models.

A feed is given by the options --input-shape NAME:1,3,.. , --dim NAME=N and --input NAME=WHAT. WHAT
is a number, a range LOW..HIGH (for an input of integers, both ends are included) or a .npy file. If
--input is given several times for an input, the k-th one is for draw k, and the last one for all
further draws. Inputs without it are random: floats uniform in [-1, 1), integers from 0 to 3,
booleans. Random values depend only on the seed and on the input's name, so that two models with the
same inputs get the same values.
"""

import argparse, csv, os, re, shlex, subprocess, time, zlib
import numpy
from packages import check_words, fail
from project import ROOT, model_rows

NUMPY = {
    "float": "float32",
    "double": "float64",
    "float16": "float16",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "uint8": "uint8",
    "uint16": "uint16",
    "uint32": "uint32",
    "uint64": "uint64",
    "bool": "bool",
    "string": "object",
}
# Types that numpy lacks, by their names in ONNX Runtime and in ml_dtypes.
MORE_TYPES = {
    "bfloat16": "bfloat16",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "int4": "int4",
    "uint4": "uint4",
}


NUMBER = r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|[-+]?inf|nan"


def formed(pattern, expected):
    """A type for argparse that accepts texts of this pattern and returns them unchanged. If the
    pattern's group `file` matches, that file must exist."""

    def check(text):
        found = re.fullmatch(pattern, text, re.I)
        if not found:
            raise argparse.ArgumentTypeError(f"{text}: expected {expected}")
        file = found.groupdict().get("file")
        if file and not os.path.isfile(file):
            raise argparse.ArgumentTypeError(f"{text}: there is no file {file}")
        return text

    return check


def split_input(text):
    """NAME and WHAT of NAME=WHAT. Both a name and the name of a file may have an = as well: the two
    are split at the last one that is followed by something other than a file, or by a file that is
    there."""
    for found in reversed(list(re.finditer("=", text))):
        what = text[found.end() :]
        if not what.lower().endswith(".npy") or os.path.isfile(what):
            return text[: found.start()], what
    name, _, what = text.rpartition("=")
    return name, what


def input_option(text):
    """A type for argparse: the text of an option --input."""
    name, what = split_input(text)
    well_formed = formed(
        rf"{re.escape(name)}=(random|(?P<file>.+\.npy)|({NUMBER})(\.\.({NUMBER}))?)",
        "NAME=FILE.npy, NAME=random, NAME=NUMBER or NAME=LOW..HIGH",
    )
    return formed(".+=.+", "NAME=WHAT")(text) if not name else well_formed(text)


def add_feed_options(parser):
    parser.add_argument(
        "--input-shape",
        action="append",
        type=formed(r".+:(\d+(,\d+)*)?|\d+(,\d+)*", "NAME:N,N,.., one size for each axis"),
        default=[],
        metavar="NAME:1,3,..",
        help="sizes of an input; NAME: may be left out if there is one input",
    )
    parser.add_argument(
        "--dim",
        action="append",
        type=formed(r".+[=:]\d+", "NAME=NUMBER"),
        default=[],
        metavar="NAME=N",
        help="value of a size that the model names; default 1",
    )
    parser.add_argument(
        "--input",
        action="append",
        type=input_option,
        default=[],
        metavar="NAME=WHAT",
        help="data of an input: a number, a range LOW..HIGH or a .npy file",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        help="seed of the random inputs; default 1 (that of optimize-model and run-model is 0)",
    )


def needed_inputs(graph):
    """The names of a graph's inputs that are not initializers."""
    constant = {tensor.name for tensor in graph.initializer}
    return [value.name for value in graph.input if value.name not in constant]


def check_feed(options, graph):
    """Ends with exit status 2 if a feed option names an input or a size that this graph lacks."""
    inputs = [value.name for value in graph.input]
    sizes = {d.dim_param for v in graph.input for d in v.type.tensor_type.shape.dim} - {""}
    shapes = [(text, text.rpartition(":")[0]) for text in options.input_shape]
    given = [("--input-shape", name, inputs) for _, name in shapes if name]
    for text, name in shapes:
        if not name and len(needed_inputs(graph)) != 1:
            names = ", ".join(needed_inputs(graph))
            fail(2, f"--input-shape: {text}: it must name one of the model's inputs: {names}")
    given += [("--input", split_input(text)[0], inputs) for text in options.input]
    given += [("--dim", re.split("[=:]", text)[0], sorted(sizes)) for text in options.dim]
    for option, name, known in given:
        if name not in known:
            what = "size" if option == "--dim" else "input"
            listed = f"it has {', '.join(known)}" if known else "it has none"
            fail(2, f"{option}: {name}: the model has no {what} of this name; {listed}")


class NotFed(ValueError):
    """Raised for an input of a type for which no data can be made."""


def more_type(name):
    """The numpy type of ml_dtypes for one of MORE_TYPES."""
    try:
        import ml_dtypes
    except ImportError as missing:
        raise NotFed(f"inputs of type {name} need the package ml_dtypes") from missing
    return numpy.dtype(getattr(ml_dtypes, MORE_TYPES[name]))


def in_halves(name):
    """Whether an element of this type is half a byte."""
    return name.endswith("int4")


class Feed:
    """The inputs that feed options describe."""

    def __init__(self, options):
        self.seed = options.seed
        self.shapes = {}
        for text in options.input_shape:
            name, _, sizes = text.rpartition(":")
            self.shapes[name] = [int(size) for size in sizes.split(",") if size.strip()]
        self.sizes = {
            name: int(size)
            for name, _, size in (re.split("([=:])", text, maxsplit=1) for text in options.dim)
        }
        self.values = {}
        for text in options.input:
            name, what = split_input(text)
            self.values.setdefault(name, []).append(what)

    def shape(self, name, declared):
        for given in (name, ""):  # "": the sizes of the only input
            if given in self.shapes:
                return self.shapes[given]
        return [
            size if isinstance(size, int) and size >= 0 else self.sizes.get(size, 1)
            for size in declared or []
        ]

    def draw(self, inputs, seed=0):
        """Arrays by name for the inputs of a session (NodeArg of onnxruntime). The seed, which is
        also the number of the draw, is added to that of the options."""
        return {each.name: self.one(each, seed) for each in inputs}

    def one(self, each, seed):
        """An input as an array, or as an OrtValue if numpy lacks the type."""
        element = re.fullmatch(r"tensor\((\w+)\)", each.type)
        if not element or element[1] not in NUMPY | MORE_TYPES:
            raise NotFed(f"input {each.name} is of type {each.type}, which cannot be fed")
        if element[1] in NUMPY:
            return self.array(each, seed, numpy.dtype(NUMPY[element[1]]))
        import onnx, onnxruntime

        array = self.array(each, seed, numpy.dtype("int8" if in_halves(element[1]) else "float32"))
        kind = more_type(element[1])  # a file has its bits as unsigned integers
        array = array.view(kind) if array.dtype.kind == "u" else array.astype(kind)
        number = onnx.TensorProto.DataType.Value(element[1].upper())
        if in_halves(element[1]):  # ONNX Runtime reads two elements from a byte
            halves = array.reshape(-1).view("uint8") & 15
            halves = numpy.append(halves, [0] * (halves.size % 2)).astype("uint8")
            array = numpy.ascontiguousarray(array)
            array.reshape(-1).view("uint8")[: halves.size // 2] = halves[::2] | halves[1::2] << 4
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array, number)

    def array(self, each, seed, kind):
        shape = self.shape(each.name, each.shape)
        given = self.values.get(each.name, ["random"])
        what = given[min(seed, len(given) - 1)]
        random = numpy.random.default_rng([self.seed + seed, zlib.crc32(each.name.encode())])
        if what.endswith(".npy"):
            return numpy.load(what)
        if kind == object:
            return numpy.full(shape, "a", dtype=object)
        if kind == bool:
            return random.integers(0, 2, shape).astype(bool)
        if what != "random" and ".." not in what:
            return numpy.full(shape, float(what) if kind.kind == "f" else int(what), dtype=kind)
        if kind.kind == "f":
            low, high = (float(v) for v in what.split("..")) if what != "random" else (-1.0, 1.0)
            return random.uniform(low, high, shape).astype(kind)
        low, high = (int(v) for v in what.split("..")) if what != "random" else (0, 3)
        return random.integers(low, high, shape, endpoint=True).astype(kind)


def feed_of(words):
    """The feed that these words of a command line describe."""
    parser = argparse.ArgumentParser()
    add_feed_options(parser)
    return Feed(parser.parse_args(words))


def session_options(threads=1):
    """Options for a session with all optimizations of ONNX Runtime, on so many threads. As in the
    built-in runtime, denormals are flushed."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 4
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def session(path, threads=1, optimized=True, provider="cpu"):
    """A session of ONNX Runtime for a model, a path or bytes. On a GPU ("cuda"), float32 is
    computed without TF32, which is ONNX Runtime's default there; a model that does not run on the
    GPU is an error."""
    import onnxruntime

    options = session_options(threads)
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    providers = ["CPUExecutionProvider"]
    if provider == "cuda":
        providers.insert(0, ("CUDAExecutionProvider", {"use_tf32": "0"}))
    made = onnxruntime.InferenceSession(path, options, providers=providers)
    if provider == "cuda" and "CUDAExecutionProvider" not in made.get_providers():
        raise RuntimeError("ONNX Runtime does not run it on the GPU")
    return made


def runs(made, values):
    """A function that runs a session on these values. It returns arrays, or OrtValues if numpy
    lacks the type of an input or output."""
    import onnxruntime

    kinds = [each.type for each in [*made.get_inputs(), *made.get_outputs()]]
    if not any(kind == f"tensor({name})" for kind in kinds for name in MORE_TYPES):
        return lambda: made.run(None, values)
    held = {
        name: (
            value
            if isinstance(value, onnxruntime.OrtValue)
            else onnxruntime.OrtValue.ortvalue_from_numpy(value)
        )
        for name, value in values.items()
    }
    return lambda: made.run_with_ort_values(None, held)


def outputs(made, values):
    """The outputs of a session, those of MORE_TYPES as arrays of float32."""
    return [as_array(value) for value in runs(made, values)()]


def as_array(value):
    import ctypes, onnxruntime

    if not isinstance(value, onnxruntime.OrtValue):
        return value
    kind = re.fullmatch(r"tensor\((\w+)\)", value.data_type())
    if not kind or kind[1] not in MORE_TYPES:
        return value.numpy()
    shape, name, kind = value.shape(), kind[1], more_type(kind[1])
    n = int(numpy.prod(shape))
    size = (n + 1) // 2 if in_halves(name) else n * kind.itemsize
    data = numpy.frombuffer(ctypes.string_at(value.data_ptr(), size) if n else b"", "uint8")
    if in_halves(name):
        data = numpy.stack([data & 15, data >> 4], -1).reshape(-1)[:n]
    return data.view(kind).reshape(shape).astype("float32")


def clock_of(threads):
    """The clock for timing so many threads. For one thread it is the processor time of the process,
    as in run-model, which other programs do not disturb; for several, the time that passes."""
    return time.process_time if threads == 1 else time.perf_counter


def said_seconds(text, which):
    """The least or the median time, in seconds, in the output of `run-model --repeat`. Raises
    ValueError if there is none."""
    found = re.search(rf"^time: .*\b{which} ([\d.]+) (s|ms|us)\b", text, re.M)
    if not found:
        raise ValueError("run-model says no time")
    return float(found[1]) * {"s": 1.0, "ms": 1e-3, "us": 1e-6}[found[2]]


def least_seconds(text):
    return said_seconds(text, "least")


def median_seconds(text):
    return said_seconds(text, "median")


def times_as_fast(report):
    """How many times as fast a result is according to the report of optimize-model, or None if no
    whole model was timed."""
    pair = report["measured_seconds"]
    return pair["before"] / pair["after"] if pair and pair["before"] and pair["after"] else None


def one_line(error):
    """The message of an error as one line of at most 300 characters."""
    return re.sub(r"\s+", " ", str(error)).strip()[:300] or type(error).__name__


def read_model(path, load_external_data=True):
    """Reads a model, with or without the data that lies in other files. Ends with exit status 3 if
    it cannot be read."""
    import onnx

    try:
        return onnx.load(path, load_external_data=load_external_data)
    except Exception as error:
        missing = getattr(error, "filename", None) == path
        fail(3, f"{path}: cannot read the model: {error.strerror if missing else one_line(error)}")


def model_table():
    """The rows of scripts/models.tsv that are models, not expected outputs."""
    return [row for row in model_rows() if row["name"].endswith(".onnx")]


def begins(word, name):
    return name.startswith(word)


def check_models(words):
    """Ends with exit status 2 if no model's name begins with one of the words."""
    check_words(words, [row["name"] for row in model_table()], begins)


def models_named(words):
    """The rows of the models whose names begin with one of the words; without words, all rows."""
    return [
        row
        for row in model_table()
        if not words or any(begins(word, row["name"]) for word in words)
    ]


def zoo_tables():
    """The tables of models that the environment variable ISOMER_ZOO names."""
    return [path for path in os.environ.get("ISOMER_ZOO", "").split(":") if path]


def tables(path):
    """(name, file, feed options) of the models in a table. Its lines have a name, a path relative
    to the table, and feed options, separated by tabs."""
    with open(path, encoding="utf-8") as file:
        for name, model, words in csv.reader(file, delimiter="\t"):
            yield name, os.path.join(os.path.dirname(path), model), shlex.split(words)


def prepared(row, folder):
    """Fetches a model of scripts/models.tsv and returns its file. A light model, which has no
    weights, gets random ones in a copy in `folder`."""
    scripts = os.path.join(ROOT, "scripts")
    path = subprocess.run(
        [os.path.join(scripts, "fetch-models"), row["name"]],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    if not row["name"].startswith("light_"):
        return path
    target = os.path.join(folder, row["name"])
    if not os.path.exists(target):
        subprocess.run([os.path.join(scripts, "randomize-weights"), path, target, "1"], check=True)
    return target


def constants_fixed(path, out, most=None):
    """Writes a model with its inputs k0, k1, .., which stand for the constants of a question, as
    constants that repeat some positive numbers. Returns False, and writes nothing, if one would
    have more than `most` elements."""
    import onnx

    model = onnx.load(path)
    some = numpy.random.default_rng(1).uniform(0.5, 1.5, 4099)
    for value in [value for value in model.graph.input if re.fullmatch(r"k\d+", value.name)]:
        kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if most is not None and numpy.prod(shape) > most:
            return False
        data = numpy.resize(some.astype(kind), shape)
        model.graph.initializer.append(onnx.numpy_helper.from_array(data, value.name))
        model.graph.input.remove(value)
    onnx.save(model, out)
    return True
