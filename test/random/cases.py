"""Cases stored in folders: model.onnx, and case.json with the options of optimize-model, the way in
which inputs are drawn, and what was wrong."""

import json, os
import onnx
import options
from models import Case, Given
from server import BUILD, HERE, ROOT

CASES = os.path.join(HERE, "cases")
KEEP = os.path.join(BUILD, "random")


def save(folder, case, chosen, seed, findings):
    os.makedirs(folder, exist_ok=True)
    onnx.save(case.model, os.path.join(folder, "model.onnx"))
    about = {
        "about": case.about,
        "seed": seed,
        "options": {**vars(chosen), "rules": None},
        "rules": chosen.rules and os.path.relpath(chosen.rules, ROOT),
        "sizes": case.sizes,
        "external": case.external,
        "inputs": [i._asdict() for i in case.inputs],
        "was": [list(f) for f in findings],
    }
    with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as file:
        json.dump(about, file, indent=1)
        file.write("\n")


def load(folder):
    """Reads a stored case: (case, options, seed)."""
    with open(os.path.join(folder, "case.json"), encoding="utf-8") as file:
        about = json.load(file)
    chosen = options.Options(**about["options"])
    if about["rules"]:
        chosen.rules = os.path.join(ROOT, about["rules"])
    inputs = [Given(**i) for i in about["inputs"]]
    model = onnx.load(os.path.join(folder, "model.onnx"))
    sizes = {name: tuple(pair) for name, pair in about["sizes"].items()}
    case = Case(model, inputs, sizes, about["external"], about["about"], [], None)
    return case, chosen, about["seed"]
