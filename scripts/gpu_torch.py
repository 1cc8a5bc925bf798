"""Times ONNX models in PyTorch, converted by onnx2torch, and shows the times beside those of the
built-in runtime: eagerly, compiled by torch.compile, and as CUDA graphs, each with TF32 off and on.
scripts/gpu-check runs this script.

Usage: gpu_torch.py LIST [--device cuda|cpu] [--ours FILE] [--seconds N]. LIST: a line for each
model: name, file, and the options of its feed, separated by tabs. --ours: a file with lines of name
and milliseconds. Prints a line for each model and arithmetic: the milliseconds of each way (`-`
where it does not run), ours, and the best of theirs divided by ours. Models that are not done after
N seconds are left out; a line says how many. Exit status 0, even where nothing could be measured.
"""

import argparse, math, os, signal, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
WAYS = ("eager", "compiled", "graphed")


class Late(Exception):
    """Raised if a model takes longer than it may."""

    pass


def late(_signal, _frame):
    raise Late


def inputs(path, words, device):
    """The inputs of a model as tensors on the device, drawn as for the other runtimes."""
    import onnxruntime, torch
    from onnx_tools import feed_of, session_options

    session = onnxruntime.InferenceSession(
        path, session_options(), providers=["CPUExecutionProvider"]
    )
    drawn = feed_of(words).draw(session.get_inputs())
    return [torch.from_numpy(drawn[i.name]).to(device) for i in session.get_inputs()]


def least(run, device, rounds=30):
    """The least milliseconds of a call, on a GPU by its own clock."""
    import torch

    best = math.inf
    for _ in range(5):
        run()
    for _ in range(rounds):
        if device == "cuda":
            ends = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            ends[0].record()
            run()
            ends[1].record()
            torch.cuda.synchronize()
            best = min(best, ends[0].elapsed_time(ends[1]))
        else:
            start = time.perf_counter()
            run()
            best = min(best, 1e3 * (time.perf_counter() - start))
    return best


def graphed(net, given):
    """A function that replays the network as a CUDA graph. As PyTorch requires, the graph is
    captured after a few calls on another stream."""
    import torch

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            net(*given)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(*given)
    return graph.replay


def one_way(way, net, given, device, seconds):
    """The milliseconds of a network in one way, or None if it does not run, or not in time."""
    import torch

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, max(0.1, seconds))
    try:
        if way == "graphed":
            return least(graphed(net, given), device) if device == "cuda" else None
        run = torch.compile(net) if way == "compiled" else net
        return least(lambda: run(*given), device, 30 if device == "cuda" else 2)
    except Exception as error:
        print(f"# {way}: {type(error).__name__}: {str(error)[:120]!r}")
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def set_tf32(on):
    import torch

    torch.backends.cuda.matmul.allow_tf32 = on
    torch.backends.cudnn.allow_tf32 = on


def ours_of(path):
    """Our milliseconds by name, from the file of --ours; None where a line has no number."""
    found = {}
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                name, _, rest = line.partition("\t")
                number = rest.split(" ")[0]
                found[name] = float(number) if number.replace(".", "", 1).isdigit() else None
    return found


def row(name, tf32, times, own):
    """Prints the line of a model and returns the ratio of the best time to ours, if there is one.
    With TF32 there is none, since our times are those of float32."""
    best = min((t for t in times.values() if t is not None), default=None)
    ratio = f"{best / own:.2f}" if own and best and not tf32 else "-"
    cells = [f"{times[way]:.3f}" if times[way] is not None else "-" for way in WAYS]
    shown = [name, "tf32" if tf32 else "fp32", *cells, f"{own:.3f}" if own else "-", ratio]
    print("\t".join(shown), flush=True)
    return best / own if own and best and not tf32 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("list", help="a line for each model: name, file and feed options, by tabs")
    parser.add_argument("--device", default="cuda", help="cuda or cpu")
    parser.add_argument("--ours", help="file with lines of a name and our milliseconds")
    parser.add_argument(
        "--seconds", type=float, default=85, help="seconds after which no further model is timed"
    )
    options = parser.parse_args()
    end, own, ratios = time.monotonic() + options.seconds, ours_of(options.ours), []
    try:
        import onnx, onnx2torch, torch
    except ImportError as error:
        print(f"not measured: {error}; pip install onnx2torch")
        return 0
    with open(options.list, encoding="utf-8") as file:
        models = [line.rstrip("\n").split("\t") for line in file if line.strip()]
    print("\t".join(["model", "type", *WAYS, "ours", "best of theirs / ours"]), flush=True)
    for done, (name, path, words) in enumerate(models):
        left = end - time.monotonic()
        if left < 2:
            print(f"# time is up: {len(models) - done} models left out")
            break
        try:
            net = onnx2torch.convert(onnx.load(path)).eval().to(options.device)
            given = inputs(path, words.split(), options.device)
        except Exception as error:
            print(f"# {name}: {type(error).__name__}: {str(error)[:120]!r}", flush=True)
            continue
        with torch.no_grad():
            for tf32 in (False, True):
                set_tf32(tf32)
                times = {
                    way: one_way(way, net, given, options.device, min(20, end - time.monotonic()))
                    for way in WAYS
                }
                ratios.append(row(name, tf32, times, own.get(name)))
    ratios = [r for r in ratios if r]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"geometric mean over {len(ratios)} models: {mean:.3f}, least {min(ratios):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
