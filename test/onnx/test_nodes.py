"""ONNX's own node tests go through importer, plan and CPU. Each case must pass, or be unsupported
for a reason that is named; none may fail."""

import collections, os, subprocess, warnings
import numpy
import onnx
from onnx import numpy_helper

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
TOOL = os.path.join(ROOT, os.environ.get("ISOMER_BUILD", "build"), "test", "tools", "run_cases")
PACKED = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}
LEAST = 1788
RTOL = {"float16": 4e-3, "bfloat16": 3e-2}  # a few units in the last place; other types: 1e-3
NOISE = {
    "test_dft_inverse": 1e-5,
    "test_dft_inverse_opset19": 1e-5,
}  # the expected outputs are not exact: numpy's transform in float32 makes such numbers of zeros
RANDOM = (
    "bernoulli",
    "randomnormal",
    "randomuniform",
    "multinomial",
)  # random outputs, which are not compared


def tensor(value):
    """A value as an array, or None if it does not hold numbers."""
    if isinstance(value, onnx.TensorProto):
        value = numpy_helper.to_array(value)
    return (
        numpy.asarray(value)
        if isinstance(value, (numpy.ndarray, numpy.generic)) and value.dtype.kind not in "OUS"
        else None
    )


def packed(array):
    """The bytes of an array as in an ONNX tensor: elements of less than 8 bits are packed, the
    first in the low bits."""
    bits = PACKED.get(array.dtype.name)
    return (
        numpy_helper.from_array(numpy.ascontiguousarray(array)).raw_data
        if bits
        else numpy.ascontiguousarray(array).tobytes()
    )


def unpacked(kind, shape, data):
    proto = onnx.TensorProto(data_type=kind, dims=shape, raw_data=data)
    return numpy_helper.to_array(proto)


def cases():
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return collect_testcases(None)


class Tool:
    """A process for all cases, which is started again if a case kills it. `backend`: a plug-in to
    use instead of the CPU's back end."""

    def __init__(self, folder, *backend):
        self.command = [TOOL, *backend]
        self.folder, self.out, self.process = folder, str(folder / "out.bin"), None

    def ask(self, case):
        if not self.process or self.process.poll() is not None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        model, blob = str(self.folder / "m.onnx"), str(self.folder / "in.bin")
        lines, at = [f"case\t{model}"], 0
        with open(model, "wb") as f:
            f.write(case.model.SerializeToString())
        with open(blob, "wb") as f:
            for info, value in zip(case.model.graph.input, case.data_sets[0][0]):
                value = tensor(value)
                if value is not None:
                    data = packed(value)
                    f.write(data)
                    lines.append(
                        "\t".join(map(str, ["in", info.name, blob, at, len(data), *value.shape]))
                    )
                    at += len(data)
        open(self.out, "wb").close()
        self.process.stdin.write("\n".join([*lines, f"run\t{self.out}", ""]))
        self.process.stdin.flush()
        outputs = []
        for line in self.process.stdout:
            word, *rest = line.rstrip("\n").split("\t")
            if word == "out":
                outputs.append((int(rest[0]), int(rest[1]), [int(n) for n in rest[2:]]))
            elif word == "done":
                return "done", self.read(outputs)
            else:
                return tuple(line.strip().split(" ", 1))
        self.process.wait()
        return "failed", f"the process ended with {self.process.returncode}"

    def read(self, outputs):
        with open(self.out, "rb") as f:
            return [unpacked(kind, shape, f.read(n)) for kind, n, shape in outputs]


def differs(case, have, want):
    for a, b in zip(have, want, strict=True):
        b = tensor(b)
        if b is None:
            return "a result that is not a tensor of numbers"
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{a.dtype}{a.shape} instead of {b.dtype}{b.shape}"
        if any(word in case.name for word in RANDOM):
            continue
        exact, kind = a.dtype.kind in "iub", a.dtype.name
        a, b = (
            (a.astype("f8"), b.astype("f8")) if a.dtype.name not in ("int64", "uint64") else (a, b)
        )
        rtol, atol = (
            (0, 0)
            if exact
            else (max(case.rtol, RTOL.get(kind, 1e-3)), NOISE.get(case.name, case.atol))
        )
        if not numpy.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
            return f"differs by {numpy.nanmax(numpy.abs(a.astype('f8') - b.astype('f8')))}"
    return ""


def run_all(folder):
    """Runs all cases. For each name, ("passed", ""), ("cannot", reason) or ("failed", reason)."""
    tool, results = Tool(folder), {}
    for case in cases():
        verdict, what = tool.ask(case)
        if verdict == "done":
            why = differs(case, what, case.data_sets[0][1])
            verdict, what = ("failed", why) if why else ("passed", "")
        results[case.name] = verdict, what
    tool.process.stdin.close()
    assert tool.process.wait(timeout=60) == 0
    return results


def test_node_cases(tmp_path):
    results = run_all(tmp_path)
    count = collections.Counter(verdict for verdict, _ in results.values())
    opaque = collections.defaultdict(collections.Counter)
    for verdict, what in results.values():
        if verdict == "cannot":
            name, _, why = what.partition(": ")
            opaque[name][why] += 1
    for name, reasons in sorted(opaque.items()):
        print(f"{sum(reasons.values()):4} {name}: " + "; ".join(reasons))
    print(
        f"{count['passed']} passed, {count['cannot']} not supported, {count['failed']} failed of"
        f" {len(results)}"
    )
    failed = [f"{name}: {what}" for name, (verdict, what) in results.items() if verdict == "failed"]
    assert not failed, f"{len(failed)} failed\n" + "\n".join(failed)
    assert count["passed"] >= LEAST
