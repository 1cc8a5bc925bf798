"""Says how much time ONNX Runtime spends on each node of a model, and what it reaches on this
machine. optimize-model reads this to know where it may gain, and shows it with --headroom.

Prints these lines, for one thread or as many as --threads says; each time is the least of some
runs:
    machine FLOPS BYTES     the arithmetic and the memory traffic per second that it reaches
    node K SECONDS          node K of the file, counted from 0, with the nodes fused into it
    other TYPE SECONDS      kernels of this operator that belong to no node of the file
Exit status: 1 if ONNX Runtime does not run the model, 2 for wrong options, 3 if the file cannot be
read, 5 if a package is missing.

Each node first gets a number as its name. ONNX Runtime names a fused kernel after one of its nodes
or after the value that it makes; the time then goes to the node in that chain that has the kernel's
operator. Where ONNX Runtime makes up a name, the optimized model that it saves says which values
the kernel reads and makes. Of the nodes between them, those with the kernel's operator share its
time; if there are none, products and convolutions do, or else all of them.

ONNX Runtime takes the times of nodes from the clock on the wall. If they add up to more than the
processor time of a run, because other programs ran meanwhile, they are reduced to that.
"""

import collections, json, os, re, tempfile, time
from packages import fail, need, option_parser, positive

need("numpy", "onnx", "onnxruntime")
import numpy, onnx  # noqa: E402
from onnx_tools import (  # noqa: E402
    Feed,
    add_feed_options,
    check_feed,
    clock_of,
    one_line,
    read_model,
    runs,
    session,
    session_options,
)

RUNS, SECONDS = 9, 1.5  # of a profile: runs at most; no further run is begun after these seconds
NUMBERED = re.compile(r"isomer_node_(\d+)_")  # values of our files are named isomer_7
SUFFIX = "_kernel_time"
CHAIN = 4  # steps back from a kernel's last node, when looking for the one with its operator
# ONNX Runtime computes 16-bit floats in 32 bits. The names of values after its casts begin so.
CAST = "InsertedPrecisionFreeCast_"
# The optimized model is saved if kernels without a node take more than this share of the time, and
# the model has fewer than so many bytes.
UNNAMED, LARGEST = 0.01, 1 << 30
PRODUCTS = {"Conv", "ConvTranspose", "Einsum", "Gemm", "MatMul"}


class Numbered:
    """A model whose nodes have numbers as names: its bytes, its nodes, the number of the node that
    makes each value (`makers`), and how many bytes of weights lie in other files (`elsewhere`).
    These stay there, since ONNX Runtime can map them and a protobuf message is limited to 2 GB."""

    def __init__(self, model, path):
        for k, node in enumerate(model.graph.node):
            node.name = f"isomer_node_{k}_"
        self.bytes, self.nodes = model.SerializeToString(), list(model.graph.node)
        self.makers = {name: k for k, node in enumerate(self.nodes) for name in node.output if name}
        self.folder = os.path.dirname(os.path.abspath(path))
        self.elsewhere = sum(
            int(entry.value)
            for tensor in model.graph.initializer
            for entry in tensor.external_data
            if entry.key == "length"
        )

    def session(self, options):
        import onnxruntime

        options.add_session_config_entry(
            "session.model_external_initializers_file_folder_path", self.folder
        )
        return onnxruntime.InferenceSession(self.bytes, options, providers=["CPUExecutionProvider"])


def kernels(model, feed, threads):
    """(operator, name, least seconds) of each kernel that ONNX Runtime runs."""
    clock, whole = clock_of(threads), float("inf")
    with tempfile.TemporaryDirectory() as folder:
        options = session_options(threads)
        options.enable_profiling = True
        options.profile_file_prefix = os.path.join(folder, "profile")
        run = model.session(options)
        call, start = runs(run, feed.draw(run.get_inputs())), time.process_time()
        for done in range(RUNS):
            begin = clock()
            call()
            whole = min(whole, clock() - begin)
            if done > 3 and time.process_time() - start > SECONDS:
                break
        with open(run.end_profiling(), encoding="utf-8") as file:
            events = json.load(file)
    least = {}
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith(SUFFIX):
            key = event["args"]["op_name"], event["name"][: -len(SUFFIX)]
            least[key] = min(event["dur"], least.get(key, event["dur"]))
    share = min(1, whole / (1e-6 * sum(least.values()) or whole))
    return [(op, name, micros * 1e-6 * share) for (op, name), micros in least.items()]


def node_of(op, name, nodes, makers):
    """The number of the node that a kernel stands for, or None if it is named after no node and no
    value of the file. A product with a sum after it becomes a Gemm."""
    number = NUMBERED.search(name)
    last = int(number[1]) if number else makers.get(name.removeprefix(CAST).removesuffix("_nchwc"))
    kinds, chain = ((op, "MatMul") if op == "Gemm" else (op,)), last
    for _ in range(CHAIN):
        if chain is None or nodes[chain].op_type in kinds:
            break
        before = [makers[value] for value in nodes[chain].input if value in makers]
        chain = next(
            (k for k in before if nodes[k].op_type in kinds), before[0] if before else None
        )
    return last if chain is None or nodes[chain].op_type not in kinds else chain


def optimized_nodes(model):
    """The nodes of the optimized model that ONNX Runtime runs, by name."""
    with tempfile.TemporaryDirectory() as folder:
        options = session_options(1)
        options.optimized_model_filepath = os.path.join(folder, "optimized.onnx")
        model.session(options)
        graph = onnx.load(options.optimized_model_filepath, load_external_data=False).graph
    for node in graph.node:
        for values in (node.input, node.output):
            values[:] = [value.removeprefix(CAST) for value in values]
    return {node.name: node for node in graph.node}


def nodes_between(kernel, nodes, makers, made):
    """The nodes of the file whose work a kernel does: those on which its results depend, up to the
    values that it reads. None of them if this leads to a value that another kernel makes (`made`:
    what kernels make)."""
    found, ends = set(), set(kernel.input)
    values = [value for value in kernel.output if value in makers and value not in ends]
    while values:
        k = makers[values.pop()]
        if k in found:
            continue
        found.add(k)
        before = [v for v in nodes[k].input if v in makers and v not in ends]
        if not made.isdisjoint(before):
            return []
        values += before
    return sorted(found)


def sharing(op, between, nodes):
    """Which of the nodes that a kernel of this operator stands for share its time."""
    same = [k for k in between if nodes[k].op_type == op]
    return same or [k for k in between if nodes[k].op_type in PRODUCTS] or between


def share_others(model, nodes, others):
    """Distributes the time of kernels with made-up names, `others`, over the nodes that they stand
    for."""
    kernels_of = optimized_nodes(model)
    made = {value for kernel in kernels_of.values() for value in kernel.output}
    for op, name, seconds in list(others):
        kernel = kernels_of.get(name)
        between = nodes_between(kernel, model.nodes, model.makers, made) if kernel else []
        some = sharing(op, between, model.nodes)
        for k in some:
            nodes[k] += seconds / len(some)
        if some:
            others.remove((op, name, seconds))


def least_of_runs(run, values, threads):
    clock, best, call = clock_of(threads), float("inf"), runs(run, values)
    for _ in range(5):
        start = clock()
        call()
        best = min(best, clock() - start)
    return best


def machine(threads):
    """What ONNX Runtime reaches on this machine: FLOP/s in a product of matrices that fit in the
    cache, and bytes/s in a sum of two tensors that do not."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT

    def one(op, shape):
        info = [helper.make_tensor_value_info(name, kind, shape) for name in "abc"]
        graph = helper.make_graph([helper.make_node(op, ["a", "b"], ["c"])], op, info[:2], info[2:])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        values = {name: numpy.ones(shape, numpy.float32) for name in "ab"}
        return least_of_runs(session(model.SerializeToString(), threads), values, threads)

    n, many = 512, 1 << 23
    return 2 * n**3 / one("MatMul", [n, n]), 3 * 4 * many / one("Add", [many])


def main():
    parser = option_parser(__doc__)
    parser.add_argument("model", help="the ONNX file")
    parser.add_argument(
        "--threads", type=positive, default=1, help="ONNX Runtime threads within an operator"
    )
    add_feed_options(parser)
    options = parser.parse_args()
    given = read_model(options.model, load_external_data=False)
    check_feed(options, given.graph)
    model = Numbered(given, options.model)
    nodes, others = collections.Counter(), []
    for op, name, seconds in kernels(model, Feed(options), options.threads):
        k = node_of(op, name, model.nodes, model.makers)
        if k is None:
            others.append((op, name, seconds))
        else:
            nodes[k] += seconds
    unnamed = sum(seconds for _, _, seconds in others)
    size = len(model.bytes) + model.elsewhere
    if unnamed > UNNAMED * (unnamed + nodes.total()) and size < LARGEST:
        share_others(model, nodes, others)
    by_type = collections.Counter()
    for op, _, seconds in others:
        by_type[op] += seconds
    print("machine %.6g %.6g" % machine(options.threads))
    for k, seconds in sorted(nodes.items()):
        print(f"node {k} {seconds:.9f}")
    for op, seconds in by_type.most_common():
        print(f"other {op} {seconds:.9f}")


if __name__ == "__main__":
    try:
        main()
    except Exception as error:  # ONNX Runtime may refuse a model in any way: there is no profile
        fail(1, one_line(error))
