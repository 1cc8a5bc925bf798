"""Prints digests of what the programs make of models, so that two states of the sources can be
compared. A change that only renames or moves code must not change any digest.

For ONNX's node cases and the models of scripts/models.tsv, prints lines "NAME WHAT DIGEST". WHAT:
  understood   what the importer makes of the file (onnx_roundtrip -v)
  frozen       the model and the proof log written with --frozen, where times are estimated
  rewritten    the same with every rule applied wherever it matches (prefer-rewritten; node cases)
  run          the exit status and the outputs of run-model on random data (node cases)
If a run fails, the digest is that of its exit status and message.

Usage: result_digests.py [-o FILE] [--every N] [--compare FILE] [node|models ..]. With --compare the
lines that differ from FILE's are printed, and the exit status is 1 where there are any.
"""

import argparse, hashlib, os, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor
from roundtrip import BUILD, EAGER, OPTIMIZE, SERVER, SOURCES, TOOL, options_of
from written import read

RUN = os.path.join(BUILD, "run-model")


def digest(*parts):
    sha = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        sha.update(b"%d " % len(data) + data)
    return sha.hexdigest()[:16]


def optimized(case, folder, *options):
    """A digest of the model and the proof log that optimize-model writes, and of its exit status
    and message if it fails."""
    out, log, costs = (os.path.join(folder, name) for name in ("out.onnx", "log", "costs"))
    words = [case.path, out, "--proof-log", log, "--cost-db", costs, *options, *options_of(case)]
    if case.data is not None:
        code, messages = SERVER.run(["-q", *words])
    else:
        done = subprocess.run([OPTIMIZE, "-q", *words], capture_output=True, text=True)
        code, messages = done.returncode, done.stderr
    parts = [read(path) if os.path.exists(path) else b"" for path in (out, log)]
    for path in (out, log, costs):
        if os.path.exists(path):
            os.unlink(path)
    return digest(code, messages.replace(folder, ""), *parts)


def understood(case):
    done = subprocess.run([TOOL, "-v", case.path], capture_output=True, text=True)
    return digest(done.returncode, done.stdout.replace(case.path, ""))


def run(case, folder):
    done = subprocess.run([RUN, case.path, "--seed", "3"], capture_output=True, text=True)
    return digest(done.returncode, done.stdout.replace(os.path.dirname(case.path), ""))


def lines_of(case, folder):
    with tempfile.TemporaryDirectory(dir=folder) as own:
        found = [("understood", understood(case)), ("frozen", optimized(case, own, "--frozen"))]
        if case.data is not None:
            eager = optimized(case, own, "--measure-with", f"exec '{EAGER}'")
            found += [("rewritten", eager), ("run", run(case, own))]
    return [f"{case.name} {what} {value}" for what, value in found]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", nargs="*", metavar="node|models", default=[])
    parser.add_argument("--every", type=int, default=1, help="only every N-th file")
    parser.add_argument("-o", "--output", help="where the lines are written")
    parser.add_argument("--compare", help="lines written earlier")
    options, lines = parser.parse_args(), []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        for source in options.source or ["node", "models"]:
            cases = list(SOURCES[source](folder, options.every))
            for found in pool.map(lambda case: lines_of(case, folder), cases):
                lines += found
    text = "".join(line + "\n" for line in lines)
    if options.output:
        with open(options.output, "w") as file:
            file.write(text)
    if not options.compare:
        return 0
    before = dict(line.rsplit(" ", 1) for line in read(options.compare).decode().splitlines())
    after = dict(line.rsplit(" ", 1) for line in lines)
    differ = [name for name in after if before.get(name) != after[name]]
    print(*(f"{name}: {before.get(name, 'absent')} -> {after[name]}" for name in differ), sep="\n")
    print(f"{len(after)} digests, {len(differ)} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
