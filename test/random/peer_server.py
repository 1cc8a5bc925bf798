"""Runs another optimizer many times from one process: peer_server.py NAME. It reads lines with the
paths IN and OUT, separated by a tab, and answers "done", "error REASON", "signal N" or "hang". Each
run is a forked child, which may take 60 seconds, or PEER_SECONDS. The process runs in the virtual
environment that install-peers makes."""

import importlib.metadata, os, signal, sys

SECONDS = int(os.environ.get("PEER_SECONDS", "60"))


def onnxsim(into, out):
    import onnx, onnxsim

    model, good = onnxsim.simplify(onnx.load(into))
    if not good:
        raise RuntimeError("its own check failed")
    onnx.save(model, out)


def onnxslim(into, out):
    import onnx, onnxslim

    onnx.save(onnxslim.slim(onnx.load(into)), out)


def onnxoptimizer(into, out):
    import onnx, onnxoptimizer

    onnx.save(onnxoptimizer.optimize(onnx.load(into)), out)


def onnxruntime_at(level):
    def optimize(into, out):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        options.optimized_model_filepath = out
        options.log_severity_level = 4
        onnxruntime.InferenceSession(into, options, providers=["CPUExecutionProvider"])

    return optimize


def onnxruntime_transformers(into, out):
    """The type of model is taken from the name of the file, since the optimizer requires one; the
    default is "bert", as in the optimizer itself."""
    from onnxruntime.transformers import optimizer

    name = os.path.basename(into)
    kinds = [k for k in optimizer.MODEL_TYPES if name.startswith(k)]
    optimizer.optimize_model(into, model_type=(kinds or ["bert"])[0]).save_model_to_file(out)


# For each name: (package, function, modules that are imported before forking).
PEERS = {
    "onnxsim": ("onnxsim", onnxsim, ["onnx", "onnxsim"]),
    "onnxslim": ("onnxslim", onnxslim, ["onnx", "onnxslim"]),
    "onnxoptimizer": ("onnxoptimizer", onnxoptimizer, ["onnx", "onnxoptimizer"]),
    "onnxruntime basic": ("onnxruntime", onnxruntime_at("ORT_ENABLE_BASIC"), ["onnxruntime"]),
    "onnxruntime extended": ("onnxruntime", onnxruntime_at("ORT_ENABLE_EXTENDED"), ["onnxruntime"]),
}
# This optimizer is used only on whole models (scripts/bench-peers).
TRANSFORMERS = {
    "transformers.optimizer": (
        "onnxruntime",
        onnxruntime_transformers,
        ["onnx", "onnxruntime.transformers.optimizer"],
    )
}


def child(work, into, out, answer):
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1), os.dup2(nothing, 2)
    try:
        work(into, out)
        os._exit(0)
    except BaseException as error:
        text = f"{type(error).__name__}: {error}".replace("\n", " ")
        os.write(answer, text.encode(errors="replace")[:300])
        os._exit(1)


def run(work, into, out):
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        signal.alarm(SECONDS)
        child(work, into, out, write)
    os.close(write)
    reason = b""
    while part := os.read(read, 4096):
        reason += part
    os.close(read)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code == -signal.SIGALRM:
        return "hang"
    if code < 0:
        return f"signal {-code}"
    return "done" if code == 0 else f"error {reason.decode(errors='replace')}"


def main():
    package, work, modules = (PEERS | TRANSFORMERS)[sys.argv[1]]
    for name in modules:
        __import__(name)
    print(importlib.metadata.version(package), flush=True)
    for line in sys.stdin:
        into, out = line.rstrip("\n").split("\t")
        print(run(work, into, out), flush=True)


if __name__ == "__main__":
    main()
