#!/usr/bin/env python3
"""Checks the back end for GPUs on a machine without one, in parts, and writes the results into
test/cuda/OFFLINE.md.

Usage: gpu_offline.py [PART..]; without a part all of them, in this order:
  steps        random steps with every choice; the kernels are compiled for the host, with the
               threads of a block in both orders; planted faults in kernels must be noticed
  definitions  the definition of each operator, on the host in the same way
  models       whole models on the host against the CPU's back end; recordings; attention
  driver       memory, workspace, recording, choices and failures, with the host as the driver
  sm_90 sm_80 sm_100 sm_120   for this GPU: the kernels of all choices for all models, compiled by
               NVRTC, must not spill registers
  plans        cuDNN's exact plans for the convolutions of all models, for a described GPU
The results of a part are kept in BUILD/gpu-offline, model by model. A part that was stopped
continues where it was, and starts anew if the back end was built differently since; compiled
kernels are kept in any case. Environment: BUILD (build), ISOMER_MODELS (.cache/models), TABLE
(another file for the table), MINUTES (30: after this time a part leaves the rest for the next
call). Exit status: 1 if anything was wrong, 2 if there is no such part, 3 if something is left.
"""

import hashlib, json, os, re, subprocess, sys, time
from onnx_tools import model_table, tables
from packages import fail, show_help
from project import BUILD, ROOT, feed_options

KEPT = os.path.join(BUILD, "gpu-offline")
MODELS = os.environ.get("ISOMER_MODELS") or os.path.join(ROOT, ".cache", "models")
TABLE = os.environ.get("TABLE") or os.path.join(ROOT, "test", "cuda", "OFFLINE.md")
SECONDS = 60 * float(os.environ.get("MINUTES", "30"))
GPUS = ["sm_90", "sm_80", "sm_100", "sm_120"]
PYTEST = [sys.executable, "-m", "pytest", "-q", "test/onnx/test_cuda.py", "-k"]
# The parts that run test programs, each with its commands; a command of one word is a C program.
PROGRAMS = {
    "steps": [["ops_cuda"], ["ops_cuda_attention"]],
    "definitions": [["ops_lower"]],
    "driver": [["ops_cuda_calls"], ["graphs_recording"]],
    "models": [PYTEST + ["not of_a_model and not spills_registers"]],
}
PARTS = [*PROGRAMS, *GPUS, "plans"]
TITLES = {
    "steps": "drawn steps by every choice, run on the host; planted faults",
    "definitions": "operators by their definitions, run on the host",
    "models": "whole models on the host; recordings; attention; messages about what is missing",
    "driver": "memory, workspace, recording, choices and failures of the driver",
    "plans": "exact plans of cuDNN for every convolution (sm_90)",
}


def models():
    """(name, path, feed options) of the public models, the smallest first, and of the zoo."""
    rows = [
        (row["name"], os.path.join(MODELS, row["name"]), feed_options(row)) for row in model_table()
    ]
    rows = sorted(
        (row for row in rows if os.path.exists(row[1])), key=lambda row: os.path.getsize(row[1])
    )
    zoo = os.path.join(MODELS, "zoo", "zoo.tsv")
    if os.path.exists(zoo):
        rows += tables(zoo)
    return rows


def digest(*names):
    """A digest of files in the build folder."""
    state = hashlib.sha256()
    for name in names:
        with open(os.path.join(BUILD, name), "rb") as file:
            state.update(file.read())
    return state.hexdigest()[:16]


class Part:
    """The results of a part, kept in a JSON file: for each item (a model or a program) what is
    wrong, or "", and figures. Results of another key are dropped; None: of any key."""

    def __init__(self, name, key):
        self.path = os.path.join(KEPT, f"{name}.json")
        self.found = {"key": key, "items": {}, "figures": "", "date": ""}
        try:
            with open(self.path, encoding="utf-8") as file:
                before = json.load(file)
        except (OSError, ValueError):
            return
        if key in (None, before["key"]):
            self.found = before

    def note(self, item, wrong):
        self.found["items"][item] = wrong
        self.found["date"] = time.strftime("%Y-%m-%d")
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.found, file, indent=1)
        os.replace(self.path + ".new", self.path)
        print(f"{item}: {wrong or 'good'}", flush=True)


def run_described(plugin, gpu, options, path, words):
    """Runs a model with a plug-in that stands in for a GPU of this kind, without computing. Returns
    what is wrong, or ""."""
    backend = os.path.join(BUILD, "test", "cuda", f"isomer-{plugin}.so")
    done = subprocess.run(
        [os.path.join(BUILD, "run-model"), path, *words]
        + ["--backend", backend, "--backend-options", options],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "ISOMER_HOST": f"{gpu},zeros"},
    )
    return (done.stderr.strip() or f"exit status {done.returncode}") if done.returncode else ""


def each_model(name, plugin, gpu, options):
    """Runs the part `name`, model by model, until its time is over."""
    part = Part(name, digest(f"test/cuda/isomer-{plugin}.so"))
    end = time.monotonic() + SECONDS
    for model, path, words in models():
        if part.found["items"].get(model) == "":
            continue
        if time.monotonic() > end:
            return
        part.note(model, run_described(plugin, gpu, options, path, words))


def run_programs(name):
    """Runs the test programs of the part `name`."""
    used = ["test/cuda/isomer-host.so", *(f"test/{c[0]}" for c in PROGRAMS[name] if len(c) == 1)]
    part = Part(name, digest(*used))
    for command in PROGRAMS[name]:
        item = command[0] if len(command) == 1 else "test_cuda"
        if part.found["items"].get(item) == "":
            continue
        path = [os.path.join(BUILD, "test", item)] if len(command) == 1 else command
        done = subprocess.run(
            path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
            env={**os.environ, "ISOMER_HEAVY": "1", "BUILD": BUILD, "ISOMER_BUILD": BUILD},
        )
        said = done.stdout
        counts = [f"{what}: {n}" for what, n in figures(said).items() if n]
        part.found["figures"] += f"{item}: {', '.join(counts)}; "
        part.note(item, "" if done.returncode == 0 else said.strip().splitlines()[-1])


def figures(said):
    """The counts that a test program prints, by what is counted."""

    def total(pattern):
        return sum(map(int, re.findall(pattern, said, re.M)))

    return {
        "cases": total(r"PASSED *\] (?:.*: )?(\d+) test") + total(r"\b(\d+) passed"),
        "skipped": total(r"^\[ *SKIPPED *\] (?:.*: )?(\d+) test") + total(r"\b(\d+) skipped"),
        "steps": total(r"^\w+: (\d+) steps,"),
        "runs": total(r"^\w+: \d+ steps, (\d+) runs"),
        "planted faults noticed": total(r"^(\d+) planted faults"),
    }


def run_part(name):
    if name in PROGRAMS:
        run_programs(name)
    elif name == "plans":
        options = f"libraries=require,describe=test/cuda/h100.json,cache={KEPT}/kernels-plans"
        each_model("plans", "dnn", "sm_90", options)
    elif name in GPUS:
        options = f"choices=all,spills=refuse,cache={KEPT}/kernels-{name}"
        each_model(name, "nvrtc", name, options)


HEAD = """# The back end for GPUs without a GPU

Written by `make gpu-offline`, which tests the back end for GPUs on a machine without one;
`scripts/gpu_offline.py` says what its parts check. An interrupted part continues when it is run
again.

| part | what it checks | outcome | figures | date |
|---|---|---|---|---|
"""


def write_table():
    """Writes the table of all parts. Returns (whether something is wrong, whether something is
    left)."""
    total, rows, wrong, left = len(models()), [], [], []
    for name in PARTS:
        found = Part(name, None).found
        items = found["items"]
        bad = {item: text for item, text in items.items() if text}
        want = len(PROGRAMS[name]) if name in PROGRAMS else total
        outcome = f"{len(items) - len(bad)} of {want} good" if items else "not run"
        title = TITLES.get(name, f"kernels of all choices of each model, {name}, no spills")
        shown = found["figures"].strip("; ")
        rows.append(f"| {name} | {title} | {outcome} | {shown} | {found['date']} |\n")
        wrong += [f"- {name}, {item}: {text}\n" for item, text in bad.items()]
        left += [name] if len(items) < want else []
    with open(TABLE, "w", encoding="utf-8") as file:
        file.write(HEAD + "".join(rows) + ("\n" + "".join(wrong) if wrong else ""))
    return bool(wrong), bool(left)


def main():
    show_help(__doc__)
    for name in sys.argv[1:]:
        if name not in PARTS:
            fail(2, f"there is no part {name}: {' '.join(PARTS)}")
    os.makedirs(KEPT, exist_ok=True)
    for name in sys.argv[1:] or PARTS:
        run_part(name)
        write_table()
    wrong, left = write_table()
    print(
        f"{TABLE}: {'something is wrong' if wrong else 'nothing is wrong'}"
        f"{', not all is done: run it again' if left else ''}"
    )
    return 1 if wrong else 3 if left else 0


if __name__ == "__main__":
    sys.exit(main())
