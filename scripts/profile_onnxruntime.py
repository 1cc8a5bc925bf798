"""Says where ONNX Runtime spends the time of a model, by node of the file, and what the machine can
do: what the search reads to know where it may gain, and what --headroom shows.

Prints, on one thread, each time the least of some runs:
    machine FLOPS BYTES     the most arithmetic and memory traffic a second that it reaches itself
    node K SECONDS          node K of the file, from 0; nodes that were fused into it have none
    other TYPE SECONDS      operators that it added, or that no node of the file is named by
ONNX Runtime names what it fuses after one of the nodes, or after the value that comes out; nodes
get a number as their name first, and of a fused chain the node of the kernel's operator counts.
Where it makes up a name, the optimized model that it saves says what the kernel reads and makes:
the nodes between share its time.
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
    session,
    session_options,
)

RUNS, SECONDS = 9, 1.5
NUMBERED = re.compile(r"isomer_(\d+)_")
SUFFIX = "_kernel_time"
CHAIN = 4  # nodes of a fused chain
UNNAMED, LARGEST = 0.01, 1 << 30  # share of the time, bytes of a model: where it is worth asking


class Numbered:
    """The model in a file with a number as each node's name: its bytes, its nodes, which makes each
    value, and how many bytes of weights lie in other files. Those stay there: ONNX Runtime maps
    them, and a message holds 2 GB at most."""

    def __init__(self, model, path):
        for k, node in enumerate(model.graph.node):
            node.name = f"isomer_{k}_"
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
    """Of each kernel: its operator, its name, the least seconds."""
    with tempfile.TemporaryDirectory() as folder:
        options = session_options(threads)
        options.enable_profiling = True
        options.profile_file_prefix = os.path.join(folder, "profile")
        run = model.session(options)
        values, start = feed.draw(run.get_inputs()), time.process_time()
        for done in range(RUNS):
            run.run(None, values)
            if done > 3 and time.process_time() - start > SECONDS:
                break
        with open(run.end_profiling(), encoding="utf-8") as file:
            events = json.load(file)
    least = {}
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith(SUFFIX):
            key = event["args"]["op_name"], event["name"][: -len(SUFFIX)]
            least[key] = min(event["dur"], least.get(key, event["dur"]))
    return [(op, name, micros * 1e-6) for (op, name), micros in least.items()]


def node_of(op, name, nodes, makers):
    """The node of the file that a kernel stands for; None: it is named after none."""
    number = NUMBERED.search(name)
    last = int(number[1]) if number else makers.get(name.removesuffix("_nchwc"))
    chain = last
    for _ in range(CHAIN):
        if chain is None or nodes[chain].op_type == op:
            break
        before = [makers[value] for value in nodes[chain].input if value in makers]
        chain = next((k for k in before if nodes[k].op_type == op), before[0] if before else None)
    return last if chain is None or nodes[chain].op_type != op else chain


def optimized_nodes(model):
    """What ONNX Runtime runs: the node of each name."""
    with tempfile.TemporaryDirectory() as folder:
        options = session_options(1)
        options.optimized_model_filepath = os.path.join(folder, "optimized.onnx")
        model.session(options)
        graph = onnx.load(options.optimized_model_filepath, load_external_data=False).graph
    return {node.name: node for node in graph.node}


def nodes_between(kernel, nodes, makers, made):
    """The nodes of the file that a kernel does the work of: those that its results depend on, up to
    what it reads; none if that leads to what another kernel makes."""
    found, ends = set(), set(kernel.input)
    values = [value for value in kernel.output if value in makers]
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


def share_others(model, nodes, others):
    """Gives the time of kernels with made up names to the nodes that they stand for."""
    kernels_of = optimized_nodes(model)
    made = {value for kernel in kernels_of.values() for value in kernel.output}
    for op, name, seconds in list(others):
        kernel = kernels_of.get(name)
        between = nodes_between(kernel, model.nodes, model.makers, made) if kernel else []
        for k in between:
            nodes[k] += seconds / len(between)
        if between:
            others.remove((op, name, seconds))


def least_of_runs(run, values, threads):
    clock, best = clock_of(threads), float("inf")
    for _ in range(5):
        start = clock()
        run.run(None, values)
        best = min(best, clock() - start)
    return best


def machine(threads):
    """FLOP/s of a product of matrices that stay in the cache; bytes/s of a sum of two tensors that
    do not."""
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
    parser.add_argument("--threads", type=positive, default=1)
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
    except Exception as error:  # whatever the runtime refuses: there is no profile
        fail(1, one_line(error))
