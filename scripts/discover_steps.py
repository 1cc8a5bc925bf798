"""The steps that discover.py and rediscover.py share: write the questions of each model, answer
them, time each answer by itself against the part that asked, prove the faster answers, and choose
the fastest ones to each question. Some functions serve atlas.py, too.

`stem` is the path of a run's files without their endings: .candidates (all answers), .quick (those
that are fast enough by themselves), .true (of these, those that are proved), .fast (of these, those
near the fastest answer to their question), .proved (a basis of these). Steps whose results are in
BUILD/discover are not repeated."""

import os
import re
import subprocess
import sys
import tempfile

from onnx_tools import constants_fixed, prepared
from packages import positive
from project import BUILD, ROOT, feed_options, read_json, shape_options

WORK = os.path.join(BUILD, "discover")
PLACES = os.path.join(WORK, "places")  # questions and answers as models
KEPT = os.path.join(ROOT, "rules/discovered")
PAGE = os.path.join(ROOT, "test/bench/DISCOVERED.md")
ALIKE = 0.97  # an answer with this share of the best answer's ratio counts as equally fast
LARGE = 1 << 23  # elements of a constant; loading a model with a larger one takes too long


def run(program, *arguments, allowed=(0,)):
    """Runs a program of the build folder, with its output shown, and returns its exit status. Ends
    this script if that is not allowed."""
    done = subprocess.run([os.path.join(BUILD, program), *arguments], cwd=ROOT, check=False)
    if done.returncode not in allowed:
        sys.exit(f"{program} {' '.join(arguments)}: exit status {done.returncode}")
    return done.returncode


def with_bodies(report, unused):
    """A report of optimize-model, then the reports of the bodies of control flow in the model, at
    any depth. `unused`: also those of bodies that gain by themselves but are not in the result."""
    yield report
    bodies = report["bodies"]
    for body in bodies["reports"] if unused or not bodies["note"] else []:
        yield from with_bodies(body["report"], unused)


def file_of(row):
    """The file of a model."""
    return row["path"] if "path" in row else prepared(row, WORK)


def sizes_of(row):
    """The options that give the sizes that a model leaves open."""
    return shape_options(row) + row.get("dims", [])


def profile(row, target):
    """The options of discover-rules that name the profile of a model on the target, which is made
    if it is missing; an empty list if the target gives no profile."""
    out = os.path.join(WORK, f"{row['name']}.profile")
    if target != "onnxruntime":
        return []
    if not os.path.exists(out):
        done = subprocess.run(
            [os.path.join(ROOT, "scripts/profile-onnxruntime"), file_of(row)]
            + feed_options(row)
            + row.get("dims", []),
            capture_output=True,
            check=False,
        )
        if done.returncode:
            print(f"{row['name']}: no profile: {done.stderr.decode()}")
            return []
        with open(out, "wb") as file:
            file.write(done.stdout)
    return ["--profile", out]


def questions(rows, operators, target):
    """Writes the questions of so many operators of each model; returns their files."""
    files = []
    for row in rows:
        out = os.path.join(WORK, f"{row['name']}.{operators}.questions")
        if not os.path.exists(out):
            run(
                "discover-rules",
                file_of(row),
                *sizes_of(row),
                *profile(row, target),
                "--list",
                "--operators",
                str(operators),
                "-o",
                out,
            )
        files.append(out)
    return files


def answers(files, options, stem, seconds):
    """Answers the questions in these files with candidate rules and returns the statistics of
    discover-rules. No question is begun after `seconds`. The answers of earlier runs are used, too.
    """
    run(
        *("discover-rules", *files, "--depth", str(options.depth)),
        *("--steps", str(options.steps), "--worse", str(options.worse)),
        *("--time", str(seconds), "--jobs", str(options.jobs)),
        *("--resume", os.path.join(WORK, "answers"), "--models", PLACES),
        *("--json", stem + ".json", "-q", "-o", stem + ".candidates"),
    )
    return read_json(stem + ".json")


def prove(stem, jobs):
    """Proves the candidates that are fast enough by themselves, writes those that are true, and
    returns the counts of verdicts."""
    run(
        "verify-rules",
        "-q",
        "-j",
        str(jobs),
        "--resume",
        stem + ".quick",
        "-o",
        stem + ".verdicts",
        allowed=(0, 1),
    )
    run(
        *("compare-rules", "part", stem + ".verdicts", "-q", "--all", "-o", stem + ".true"),
        *("--rest", stem + ".unproved", "--json", stem + ".counts"),
    )
    return read_json(stem + ".counts")


def times_read(path):
    """For each file in PLACES that was timed, its seconds, or None if the target refuses it."""
    times = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n") and len(line.split()) == 2:  # an interrupt may cut the last
                    name, seconds = line.split()
                    times[name] = float(seconds) if seconds != "-" else None
    return times


class Timer:
    """A process that times models in ONNX Runtime, started when it is needed. `times` has the
    seconds by file, which are kept in the file `path` for later runs."""

    def __init__(self, path):
        self.path = path
        self.times = times_read(path)
        self.begin = "\n" if os.path.exists(path) else ""  # ends a line that was cut off
        self.process = None

    def batch(self, names):
        """Times models of PLACES against each other, unless the times of all are known. Models with
        large constants are left out."""
        if all(name in self.times for name in names):
            return
        if not self.process:
            self.process = subprocess.Popen(
                [os.path.join(ROOT, "scripts/measure-onnxruntime")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        with tempfile.TemporaryDirectory(dir=WORK) as folder:
            for name in names:
                path = os.path.join(folder, name)
                if constants_fixed(os.path.join(PLACES, name), path, LARGE):
                    self.process.stdin.write(path + "\n")
            self.process.stdin.write("\n")
            self.process.stdin.flush()
            self.read()

    def read(self):
        """Reads the times of a batch from the process and keeps them."""
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(self.begin)
            self.begin = ""
            for line in iter(self.process.stdout.readline, "\n"):
                if not line:
                    sys.exit("measure-onnxruntime ended early")
                words = line.split()
                seconds = "-" if words[0] == "FAIL" else words[0]
                name = os.path.basename(words[1] if seconds == "-" else words[-1])
                file.write(f"{name} {seconds}\n")
                self.times[name] = None if seconds == "-" else float(seconds)


def rule_texts(path):
    """For each rule of a file, by name: (lines of the comment above it, text without it)."""
    rules = {}
    with open(path, encoding="utf-8") as file:
        for part in re.findall(r"((?:^#.*\n)*^rule (?:.+\n)+)", file.read() + "\n", re.M):
            lines = part.rstrip("\n").split("\n")
            comments = [line for line in lines if line.startswith("#")]
            text = [line for line in lines if not line.startswith("#")]
            rules[text[0].split()[1]] = (comments, "\n".join(text))
    return rules


def alone(stem, options):
    """Times each candidate by itself against the part that asked. Writes those that are fast
    enough, and those that cannot be timed in this way because they cannot be written as an ONNX
    file (`select` has no ONNX operator). Returns the ratio by rule; it is 0 if the target refuses
    one side."""
    asked, model = rule_texts(stem + ".candidates"), {}
    for name, (comments, _) in asked.items():
        said = re.search(r"^# model (\S+)$", "\n".join(comments), re.M)
        if said and options.target == "onnxruntime":
            model[name] = said[1]
    timer, ratios, answers_of = Timer(stem + ".times"), {}, {}
    for name in model:
        answers_of.setdefault(model[name].rsplit("-", 1)[0], []).append(name)
    for question, names in sorted(answers_of.items()):
        timer.batch([question + ".onnx"] + [model[name] for name in names])
        before = timer.times.get(question + ".onnx")
        for name in names:
            after = timer.times.get(model[name])
            ratios[name] = before / after if before and after else 0
    with open(stem + ".quick", "w", encoding="utf-8") as file:
        for name, (comments, text) in asked.items():
            if ratios.get(name, options.alone) >= options.alone:
                file.write("\n".join(comments + [text]) + "\n\n")
    return ratios


def fastest(stem, ratios):
    """Writes the proved rules that are about as fast as the fastest answer to their question, and
    then a basis of them: those that an e-graph cannot derive from the rest."""
    proved, best = rule_texts(stem + ".true"), {}
    for name in proved:
        question = name.rsplit("-", 1)[0]
        best[question] = max(best.get(question, 0), ratios.get(name, 0))
    fast = [
        name
        for name in proved
        if name not in ratios or ratios[name] >= ALIKE * best[name.rsplit("-", 1)[0]]
    ]
    with open(stem + ".fast", "w", encoding="utf-8") as file:
        file.write("\n\n".join(proved[name][1] for name in fast) + "\n")
    run("compare-rules", "part", stem + ".fast", "-q", "--basis", stem + ".proved")


def write_table(lines, mark):
    """Replaces the lines between this mark and the next one in test/bench/DISCOVERED.md. The rest
    of the page is written by hand. A missing mark is added at the end."""
    text = "# What discovery found, run by run\n"
    if os.path.exists(PAGE):
        with open(PAGE, encoding="utf-8") as file:
            text = file.read()
    before, _, after = text.partition(mark)
    rest = after.partition("\n<!-- ")
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(before.rstrip("\n") + f"\n\n{mark}\n" + "\n".join(lines) + "\n")
        file.write("".join(rest[1:]))


def add_question_options(parser, operators, seconds):
    """Adds the options of asking questions, answering them and timing the answers."""
    parser.add_argument(
        "--operators", type=positive, default=operators, help="most operators in a question"
    )
    parser.add_argument("--depth", type=positive, default=1, help="most operators in an answer")
    parser.add_argument(
        "--steps", type=positive, default=1500, help="most terms evaluated for a question"
    )
    parser.add_argument(
        "--worse", type=float, default=2, help="greatest estimated cost of an answer, as a ratio"
    )
    parser.add_argument("--time", type=float, default=seconds, help="seconds for answering")
    parser.add_argument(
        "--effort",
        default="default",
        choices=("quick", "default", "thorough"),
        help="--effort of optimize-model for each model",
    )
    parser.add_argument("--jobs", type=positive, default=2, help="questions or proofs at a time")
    parser.add_argument(
        "--alone", type=float, default=1.02, help="least ratio of a rule that is timed by itself"
    )
