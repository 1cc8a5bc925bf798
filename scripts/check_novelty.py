#!/usr/bin/env python3
"""Prints a table that says which rules other optimizers have. export-rules writes the two sides of
each rule as small models, and onnxsim, onnxslim, onnxoptimizer and ONNX Runtime's passes optimize
both. The results are compared as graphs with their attributes; the values of constants are ignored.
An optimizer *has* a rule if it makes the same of both sides, and *the reverse* if what it makes of
both is the left side. Inputs named k.., the constants of a question, become constants of the
models. The second column says whether the rule follows from the proved rules of other files, such
as TASO's (compare-rules derive).

usage: check-novelty RULES [--taso RULES..] [--rule NAME..]
Environment: PEERS, the virtual environment of test/random/install-peers (BUILD/peers). Exit status
0: no optimizer has any of the rules, and none follows; 1: one has, or one follows; else as that of
the project's programs: 2 usage, 3 a file is not one of rules, 5 a file or the peers are missing."""

import collections
import os
import re
import subprocess
import sys
import tempfile

from packages import check_words, fail, need, option_parser
from project import BUILD, ROOT, read_json

need("numpy", "onnx", "onnxruntime")
import onnx  # noqa: E402

from onnx_tools import constants_fixed  # noqa: E402

sys.path.insert(0, os.path.join(ROOT, "test", "random"))
from peer_process import VENV, Peer  # noqa: E402

COMMUTATIVE = ("Add", "Mul", "Max", "Min", "Sum")
NAMES = ("onnxsim", "onnxslim", "onnxoptimizer", "onnxruntime basic", "onnxruntime extended")


def output_of(program, *arguments):
    """The output of a program of the build folder. If that fails, it has said why, and this script
    ends with the same exit status, or with 3 where that is 1."""
    path = os.path.join(BUILD, program)
    if not os.path.isfile(path):
        fail(5, f"{path} is missing; build it with make")
    done = subprocess.run([path, *arguments], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode if done.returncode > 1 else 3)
    return done.stdout


def described(path):
    """The outputs of a model as terms of operators, with their attributes, over names of inputs.
    All constants are written alike, and operands of commutative operators are sorted."""
    graph = onnx.load(path).graph
    term = {tensor.name: "constant" for tensor in graph.initializer}
    for node in graph.node:
        given = [term.get(name, name) for name in node.input]
        attributes = sorted(
            f"{a.name}={onnx.helper.get_attribute_value(a)}"
            for a in node.attribute
            if a.type not in (onnx.AttributeProto.TENSOR, onnx.AttributeProto.GRAPH)
        )
        if node.op_type in COMMUTATIVE:
            given.sort()
        said = f"{node.op_type}({', '.join(attributes + given)})"
        said = {"Constant": "constant", "Identity": given and given[0]}.get(node.op_type, said)
        for k, name in enumerate(node.output):
            term[name] = f"{said}[{k}]" if len(node.output) > 1 else said
    return [term[output.name] for output in graph.output]


def said_of(peer, folder, pair):
    """What the table says of an optimizer and a pair of models, the two sides of a rule."""
    given, made = [], []
    for side in ("from", "to"):
        path, out = (os.path.join(folder, f"{p}.{side}.onnx") for p in (pair, "out"))
        kind, _ = peer.optimize(path, out)
        if kind:
            return "fails"
        given.append(described(path))
        made.append(described(out))
    if made[0] != made[1]:
        return "does not have it"
    return "the reverse" if made[1] == given[0] != given[1] else "has it"


def worst(said):
    """What the table says of a rule, given what it says of each of the rule's pairs of models."""
    return min(said, key=("has it", "the reverse", "fails", "does not have it").index)


def pairs_of(folder):
    """For each rule, the file names of its pairs of models without their endings."""
    found = collections.defaultdict(list)
    for entry in read_json(os.path.join(folder, "index.json"))["models"]:
        found[entry["rule"]].append(entry["from"][: -len(".from.onnx")])
    return found


def derived(rules, others):
    """The names of the rules that follow from the rules of other files."""
    if not others:
        return set()
    said = output_of("compare-rules", "derive", rules, *others)
    return set(re.findall(r"^derived +(\S+):", said, re.M))


def main():
    """Prints the table."""
    parser = option_parser(__doc__)
    parser.add_argument("rules", help="file of the rules")
    parser.add_argument("--taso", nargs="*", default=[], help="files of TASO's proved rules")
    parser.add_argument("--rule", nargs="*", default=[], help="only rules with these names")
    options = parser.parse_args()
    for path in [options.rules, *options.taso]:
        if not os.path.isfile(path):
            fail(5, f"{path}: there is no such file")
    known = derived(options.rules, options.taso)
    any_has = False
    with tempfile.TemporaryDirectory() as top:
        folder = os.path.join(top, "sides")
        output_of("export-rules", options.rules, "--format", "onnx", "-o", folder)
        pairs = pairs_of(folder)
        check_words(options.rule, list(pairs), lambda word, name: word == name)
        if not os.path.exists(os.path.join(VENV, "bin", "python")):
            fail(5, f"no optimizers in {VENV}; test/random/install-peers FOLDER installs them")
        for stems in pairs.values():
            for stem in stems:
                for side in ("from", "to"):
                    path = os.path.join(folder, f"{stem}.{side}.onnx")
                    constants_fixed(path, path)
        peers = {name: Peer(name) for name in NAMES}
        print("| rule | TASO | " + " | ".join(NAMES) + " |")
        print("|---|---|" + "---|" * len(NAMES))
        for rule, stems in pairs.items():
            if options.rule and rule not in options.rule:
                continue
            cells = []
            for peer in peers.values():
                cells.append(worst([said_of(peer, folder, stem) for stem in stems]))
                any_has |= cells[-1] == "has it"
            print(f"| {rule} | {'derives it' if rule in known else '-'} | {' | '.join(cells)} |")
    return int(any_has or bool(known))


if __name__ == "__main__":
    sys.exit(main())
