"""verify-rules --obligations writes down the questions on whose answers proofs rest. cvc5 decides a
sample again, a wrong answer is noticed, and --explain names the questions."""

import os, re, shutil, subprocess
import pytest

BUILD = os.environ.get("ISOMER_BUILD", "build")
PROGRAM = os.path.join(BUILD, "verify-rules")
CHECK = "scripts/check-obligations"
SAMPLE = [
    "rules/library/merge.rules",
    "rules/library/gather.rules",
    "test/cases/verifier/reals.rules",
]
WITH_CVC5 = pytest.mark.skipif(
    not shutil.which("cvc5"), reason="cvc5 is not installed: nothing decides the questions again"
)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def questions(folder):
    return sorted(x for x in os.listdir(folder) if x.endswith(".smt2"))


def index_of(folder):
    lines = open(os.path.join(folder, "index.tsv"), encoding="utf-8").read().splitlines()
    assert lines[0] == "rule\tname\tquestion\tpurpose"
    return [line.split("\t") for line in lines[1:]]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("obligations") / "sample")
    done = run(PROGRAM, "-q", "-j", "2", "--obligations", folder, *SAMPLE)
    assert done.returncode in (0, 1), done.stderr
    return folder


def test_files(written):
    """Each question of the index is a file that describes it, and each file is in the index."""
    index = index_of(written)
    assert {line[2] + ".smt2" for line in index} == set(questions(written))
    assert len({line[0] for line in index}) > 40
    for name in questions(written):
        text = open(os.path.join(written, name), encoding="utf-8").read()
        rule = re.match(r"; rule (\S+) \((\w{16})\)\n; (.+)\n", text)
        assert [rule[2], rule[1], name[:-5], rule[3]] in index
        assert text.count("(set-info :status unsat)\n") == 1 and text.endswith("(check-sat)\n")


def test_equal_questions_are_one_file(written):
    """Two rules that ask the same question in different words share a file."""
    asked = {}
    for rule, _, question, _ in index_of(written):
        asked.setdefault(question, set()).add(rule)
    assert max(map(len, asked.values())) > 1
    bodies = [
        "".join(line for line in open(os.path.join(written, name)) if not line.startswith(";"))
        for name in questions(written)
    ]
    assert len(set(bodies)) == len(bodies)


def test_verdicts_are_the_same(tmp_path):
    """Verdicts, classes and conditions are the same with and without --obligations."""
    rules = SAMPLE[1]
    plain, noted = str(tmp_path / "a.rules"), str(tmp_path / "b.rules")
    assert run(PROGRAM, "-q", rules, "-o", plain).returncode == 0
    done = run(PROGRAM, "-q", rules, "-o", noted, "--obligations", str(tmp_path / "o"))
    assert done.returncode == 0 and open(plain).read() == open(noted).read()


@WITH_CVC5
def test_cvc5_agrees(written):
    """cvc5 contradicts nothing and confirms almost everything."""
    done = run(CHECK, written)
    assert done.returncode == 0, done.stdout + done.stderr
    n, confirmed, contradicted = map(
        int,
        re.search(
            r"(\d+) questions: (\d+) confirmed, \d+ open, (\d+) contradicted", done.stdout
        ).groups(),
    )
    assert n == len(questions(written)) and contradicted == 0 and confirmed >= 0.97 * n


@WITH_CVC5
def test_wrong_answers_are_noticed(written, tmp_path):
    """The files are changed: the opposite answer, a question without its goal, a file that is not
    SMT-LIB, and a missing file."""
    name = next(x for x in questions(written) if "QF_LIA" in open(f"{written}/{x}").read())
    text = open(f"{written}/{name}").read()
    asserted = [m.start() for m in re.finditer(r"^\(assert", text, re.M)]
    goalless = text[: asserted[-1]] + "(check-sat)\n"
    if "\n(assert true)\n" in text:
        goalless = text[: asserted[0]] + "(check-sat)\n"
    cases = {
        "contradicted": [text.replace("status unsat", "status sat"), goalless],
        "damaged": [text.replace("(check-sat)", "(check-sat"), None],
    }
    for word, texts in cases.items():
        for k, planted in enumerate(texts):
            folder = tmp_path / f"{word}-{k}"
            folder.mkdir()
            if planted is not None:
                (folder / name).write_text(planted)
            line = next(x for x in index_of(written) if x[2] == name[:-5])
            (folder / "index.tsv").write_text("rule\tname\tquestion\tpurpose\n" + "\t".join(line))
            done = run(CHECK, str(folder))
            assert done.returncode == 1, done.stdout
            assert f"1 {word}" in done.stdout and f"{word}: {name[:-5]}" in done.stdout


def test_folder_cannot_be_written(tmp_path):
    """Without the folder there is no verdict: nothing is proved if its reasons would be lost."""
    (tmp_path / "file").write_text("")
    done = run(PROGRAM, "--obligations", str(tmp_path / "file" / "o"), SAMPLE[0])
    assert done.returncode == 5 and "cannot create the folder" in done.stderr
    done = run(PROGRAM, "--obligations", str(tmp_path / "file"), SAMPLE[0])
    assert done.returncode != 0
    done = run(PROGRAM, "--resume", "--json", "x", "--obligations", "o", SAMPLE[0])
    assert done.returncode == 2 and "--resume" in done.stderr


def test_explain_is_a_derivation(written):
    """--explain prints the steps of the proof of one rule, and the digests of its questions, which
    are those in the names of the files."""
    done = run(PROGRAM, "--explain", "conv-merge-outputs", SAMPLE[0])
    assert done.returncode == 0 and done.stdout.count("PROVED") == 1
    said = set(re.findall(r"^    Z3 (\w{16}): ", done.stdout, re.M))
    rests = {line[2] for line in index_of(written) if line[1] == "conv-merge-outputs"}
    assert said and said <= rests
    for words in ("assumed: ", "output 1\n", "left: ", "right: ", "where it is defined"):
        assert words in done.stdout, words
    done = run(PROGRAM, "--explain", "conv-1x1-matmul", "rules/library/layout.rules")
    assert "by its definition: " in done.stdout or "an index by its digits: " in done.stdout
    done = run(PROGRAM, "--explain", "conv-concat-channels", "rules/library/layout.rules")
    assert "change of variables, one to one: " in done.stdout
