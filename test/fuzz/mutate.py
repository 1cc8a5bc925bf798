#!/usr/bin/env python3
"""Sends damaged model files through the whole of optimize-model: mutate.py N [SEED [FIRST
[SECONDS]]] runs at most N of them, and begins none after SECONDS.

The k-th mutant depends only on the seed and on k. One in seven is made from a real model, more
likely from a small one, and the others from files of libonnx-testdata. A mutant has one to four
changes: bits are flipped, a slice is cut out, a length or a number is changed, a name is replaced
by another, or a field is duplicated, dropped, moved or replaced. If a field of an inner message
changes, the lengths around it are corrected, so that the change gets past the parser.

For each mutant, optimize-model must end with a documented exit status, with a message if that is
not 0, and with an output exactly if it is 0. It must not cause a sanitizer's report, and may take
at most 60 seconds and 4 GB. Mutants that break this are printed and kept in build/mutants. Exit
status: 1 if there are any. Environment: BUILD (build), ISOMER_MODELS (.cache/models)."""

import collections, glob, os, random, shutil, subprocess, sys, time

BUILD, MODELS = os.environ.get("BUILD", "build"), os.environ.get("ISOMER_MODELS", ".cache/models")
PROGRAM, KEEP, TESTDATA = (
    os.path.join(BUILD, "test", "tools", "optimize-forks"),
    os.path.join(BUILD, "mutants"),
    "/usr/share/libonnx-testdata/data",
)
# CODES: the documented exit statuses; LARGEST: bytes of a file to start from; REAL: the share of
# mutants that are made from real models.
CODES, MEMORY_KB, LARGEST, REAL = {0, 1, 3, 4, 5}, 4 << 20, 6_000_000, 0.15
# The fields that hold messages: {message: {field: message}}.
INNER = {
    "model": {7: "graph", 8: "opset", 25: "function"},
    "function": {7: "node", 9: "opset"},
    "graph": {1: "node", 5: "tensor", 11: "info", 12: "info", 13: "info"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 11: "graph"},
    "info": {2: "type"},
    "type": {1: "tensortype"},
    "tensortype": {2: "shape"},
    "shape": {1: "dim"},
}


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def take_varint(data, at):
    value = shift = 0
    while True:
        byte, at = data[at], at + 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """The fields of a message: a list of (number, kind, whole field, contents)."""
    out, at = [], 0
    while at < len(data):
        start = at
        tag, at = take_varint(data, at)
        kind, begin = tag & 7, at
        if kind == 2:
            size, begin = take_varint(data, at)
            at = begin + size
        else:
            at = take_varint(data, at)[1] if kind == 0 else at + (8 if kind == 1 else 4)
        out.append((tag >> 3, kind, data[start:at], data[begin:at]))
    return out


def number(rng):
    """A random number, often one at the limit of a type."""
    return rng.choice(
        [
            0,
            1,
            2,
            3,
            7,
            127,
            128,
            255,
            2**31 - 1,
            2**31,
            2**32,
            2**62,
            2**63 - 1,
            2**63,
            2**64 - 1,
            rng.randrange(2**16),
        ]
    )


def flip(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def cut(rng, data):
    a = rng.randrange(len(data) + 1)
    b = min(len(data), a + rng.choice([1, 2, 4, 16, 256, len(data)]))
    return data[:a] + data[b:]


def change_field(rng, one, names):
    """A field with one change in its value, its length or its name, as bytes."""
    tag, kind, whole, contents = one
    how = rng.randrange(4)
    if kind == 2 and names and len(contents) < 200 and rng.random() < 0.4:
        name = rng.choice(names)
        return varint(tag << 3 | 2) + varint(len(name)) + name
    if kind == 0:
        value = (
            max(0, take_varint(contents, 0)[0] + rng.choice([-1, 1])) if how < 2 else number(rng)
        )
        return varint(tag << 3) + varint(value)
    if kind == 2 and how == 0:
        return (
            varint(tag << 3 | 2)
            + varint(
                number(rng) if rng.random() < 0.5 else max(0, len(contents) + rng.randrange(-3, 4))
            )
            + contents
        )
    if kind == 2 and how == 1:
        inner = cut(rng, contents)
        return varint(tag << 3 | 2) + varint(len(inner)) + inner
    if kind == 2 and how == 2:
        return varint(rng.randrange(1, 25) << 3 | 2) + varint(len(contents)) + contents
    return flip(rng, whole) if len(whole) < 4096 else whole[:64] + flip(rng, whole[64:])


def change_message(rng, name, data, names):
    """Makes one change at a random place of a message or of a message inside it."""
    if not data:
        return data
    if rng.random() < 0.02:
        return rng.choice([flip, cut])(rng, data)
    parts = fields(data)
    inner = [k for k, part in enumerate(parts) if part[1] == 2 and part[0] in INNER.get(name, {})]
    if inner and rng.random() < 0.8:
        kinds = sorted({parts[k][0] for k in inner})
        kind = rng.choice(kinds)
        k = rng.choice([k for k in inner if parts[k][0] == kind])
        tag, _, _, contents = parts[k]
        contents = change_message(rng, INNER[name][tag], contents, names)
        new = [varint(tag << 3 | 2) + varint(len(contents)) + contents]
    else:
        k = rng.randrange(len(parts))
        how = rng.randrange(6)
        new = (
            [[parts[k][2]] * 2, [], [rng.choice(parts)[2]], [parts[k][2], rng.choice(parts)[2]]][
                how
            ]
            if how < 4
            else [change_field(rng, parts[k], names)]
        )
    return (
        b"".join(part[2] for part in parts[:k])
        + b"".join(new)
        + b"".join(part[2] for part in parts[k + 1 :])
    )


def names_in(data):
    """The names of the values and operators of the main graph."""
    graphs = [part[3] for part in fields(data) if part[:2] == (7, 2)]
    nodes = [part[3] for graph in graphs for part in fields(graph) if part[:2] == (1, 2)]
    return [
        part[3] for node in nodes for part in fields(node) if part[0] in (1, 2, 4) and part[1] == 2
    ]


def mutate(rng, data, names):
    for _ in range(rng.choice([1, 1, 2, 4])):
        try:
            data = change_message(rng, "model", data, names)
        except IndexError:
            data = flip(rng, data)
    return data


class Server:
    """A process of optimize-forks, which forks a child for each run."""

    def __init__(self):
        environment = dict(
            os.environ,
            ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:malloc_context_size=8"
            ":quarantine_size_mb=32",
            UBSAN_OPTIONS="print_stacktrace=1",
            LD_BIND_NOW="1",
        )
        self.process = subprocess.Popen(
            [PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
        )

    def run(self, path, out, messages):
        """Runs optimize-model: (exit status or minus the number of a signal, seconds, KB)."""
        self.process.stdin.write(
            "\t".join([messages, path, out, "--cost", "flops", "--steps", "50", "-q"]) + "\n"
        )
        self.process.stdin.flush()
        status, seconds, kb = self.process.stdout.readline().split()
        return os.waitstatus_to_exitcode(int(status)), float(seconds), int(kb)


def complaint(code, messages, kb, out):
    """What is wrong with a run of optimize-model, or an empty string."""
    if "Sanitizer" in messages or "runtime error:" in messages:
        return "a sanitizer's report"
    if code not in CODES:
        return f"exit status {code}" + (" (out of time)" if code in (-14, -24) else "")
    if kb > MEMORY_KB:
        return f"{kb} KB"
    if code and not messages.strip():
        return "no message"
    return (
        ""
        if os.path.exists(out) == (code == 0)
        else "an output where none should be, or none where one should"
    )


class Sources:
    """The files from which mutants are made. Each is read only once."""

    def __init__(self):
        self.real = [
            p
            for p in sorted(glob.glob(os.path.join(MODELS, "*.onnx")))
            if os.path.getsize(p) <= LARGEST
        ]
        self.small = [
            p
            for p in sorted(glob.glob(f"{TESTDATA}/**/*.onnx", recursive=True))
            if os.path.getsize(p) <= LARGEST
        ]
        self.files = {p: self.read(p) for p in self.real}
        self.weights = [
            (len(self.files[p][1]) + 100) ** -1.5 for p in self.real
        ]  # small models are likelier, since large ones take longer

    @staticmethod
    def read(path):
        with open(path, "rb") as file:
            data = file.read()
        return data, names_in(data)

    def mutant(self, seed, k):
        """The k-th mutant of a seed: (name of the file it is made from, whether that is a real
        model, bytes)."""
        rng = random.Random(f"{seed}/{k}")
        real = self.real and (not self.small or rng.random() < REAL)
        name = rng.choices(self.real, self.weights)[0] if real else rng.choice(self.small)
        if name not in self.files:
            self.files[name] = self.read(name)
        return name, bool(real), mutate(rng, *self.files[name])


def main():
    count, seed, first, limit = (
        int(v) for v in (sys.argv[1:] + ["100", "1", "0", "1000000"][len(sys.argv) - 1 :])[:4]
    )
    sources, server = Sources(), Server()
    if not sources.real and not sources.small:
        print("no models: scripts/fetch-models fetches them")
        return 5
    os.makedirs(KEEP, exist_ok=True)
    codes, reals, bad, slowest, most, start = collections.Counter(), 0, 0, 0, 0, time.monotonic()
    path, out, texts = (
        os.path.join(KEEP, f"{name}-{os.getpid()}") for name in ("in.onnx", "out.onnx", "messages")
    )

    def tell():
        print(
            f"{sum(codes.values())} mutants from {first} on, seed {seed}, {reals} of"
            f" {len(sources.real)} real models, the others of {len(sources.small)} files: {bad}"
            f" bad; exit status {dict(sorted(codes.items()))}; slowest {slowest:.1f} s, at most"
            f" {most // 1024} MB; {time.monotonic() - start:.0f} s in all",
            flush=True,
        )

    for k in range(first, first + count):
        if time.monotonic() - start > limit:
            break
        name, real, data = sources.mutant(seed, k)
        with open(path, "wb") as file:
            file.write(data)
        code, seconds, kb = server.run(path, out, texts)
        with open(texts, errors="replace") as file:
            messages = file.read()
        why = complaint(code, messages, kb, out)
        codes[code] += 1
        reals += real
        slowest, most = max(slowest, seconds), max(most, kb)
        if why:
            bad += 1
            os.rename(path, os.path.join(KEEP, f"{seed}-{k}.onnx"))
            print(f"mutant {k} of {os.path.basename(name)}: {why}\n{messages[:3000]}", flush=True)
        if os.path.exists(out):
            os.unlink(out)
        if code == 1 and not why:
            print(
                f"mutant {k} of {os.path.basename(name)}: {messages[:1000]}", flush=True
            )  # status 1 is documented, but a wrong rule or kernel is worth a look
        if (k - first) % 500 == 499:
            tell()
    server.process.stdin.close()
    for left in glob.glob(f"{KEEP}/*-{os.getpid()}*"):
        shutil.rmtree(left) if os.path.isdir(left) else os.unlink(left)
    tell()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
