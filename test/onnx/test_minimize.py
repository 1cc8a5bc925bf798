"""The program compare-rules: which rules follow from proved ones, their basis, and the rules that
the search uses."""

import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
KEPT = os.path.join(ROOT, "rules/generated")


def run(*arguments, program="compare-rules"):
    """Runs a program of the build folder: (exit status, output, messages)."""
    done = subprocess.run(
        [os.path.join(BUILD, program), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def read(path):
    """The text of a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def names(text):
    """The names of the rules of a text."""
    return re.findall(r"^rule (\S+)$", text, re.M)


def test_taso_s_file_beside_the_proved_rules():
    """122 of 133 rules follow, and each line says from which rules."""
    code, out, _ = run("derive", "test/cases/taso/graph_subst.pb", "rules/generated/taso-3.rules")
    assert code == 0
    assert out.splitlines()[-1] == "122 derived, 11 not derived"
    known = set(names(read(os.path.join(KEPT, "taso-3.rules"))))
    for line in out.splitlines()[:-1]:
        if line.startswith("derived"):
            used = line.split(": ", 1)[1].split(", ")
            assert used == ["arguments exchanged"] or all(
                step.removesuffix(" backward") in known for step in used
            )


def test_a_proof_that_was_edited_derives_nothing(tmp_path):
    """The verdicts of the known rules are checked first."""
    path = tmp_path / "edited.rules"
    path.write_text(
        read(os.path.join(KEPT, "taso-3.rules")).replace("class=exact", "class=rounds", 1),
        encoding="utf-8",
    )
    code, _, err = run("derive", "test/cases/taso/graph_subst.pb", str(path))
    assert code == 1 and "taso-3-" in err


def test_the_committed_basis_is_found_again(tmp_path):
    """From the proved rules without their marks of the basis, the same marks are found, byte for
    byte."""
    kept = read(os.path.join(KEPT, "taso-3.rules"))
    plain, out, basis = tmp_path / "plain.rules", tmp_path / "out.rules", tmp_path / "basis.rules"
    plain.write_text(kept.replace("# basis\n", ""), encoding="utf-8")
    code, _, err = run("part", "-q", str(plain), "-o", str(out), "--basis", str(basis))
    assert code == 0, err
    assert read(out) == kept
    assert names(read(basis)) == re.findall(r"^# basis\nrule (\S+)$", kept, re.M)
    code, said, _ = run("derive", str(plain), str(basis))
    assert code == 0 and int(said.splitlines()[-1].split()[0]) >= 0.95 * len(names(kept))


def rule(name, left, right, inputs="%x : F [n, m]"):
    """The text of a rule."""
    return f"rule {name}\n  {inputs}\nfrom\n{left}to\n{right}\n"


ONCE = "  %1 = relu %x\n  out %1\n"
TWICE = "  %1 = relu %x\n  %2 = relu %1\n  out %2\n"
THRICE = "  %1 = relu %x\n  %2 = relu %1\n  %3 = relu %2\n  out %3\n"
APART = "  %1 = mul %x %y\n  %2 = mul %x %z\n  %3 = add %1 %2\n  out %3\n"
TOGETHER = "  %1 = add %y %z\n  %2 = mul %x %1\n  out %2\n"


def test_basis_and_search_set(tmp_path):
    """The basis leaves out rules that follow from others. The rules for the search lead to the
    cheaper side, reversed if necessary, and none of them follows from the library."""
    three = "%x : F [n, m]   %y : F [n, m]   %z : F [n, m]"
    source, proved = tmp_path / "source.rules", tmp_path / "proved.rules"
    source.write_text(
        rule("thrice", THRICE, ONCE)
        + rule("twice", TWICE, ONCE)
        + rule("apart", TOGETHER, APART, three),
        encoding="utf-8",
    )
    assert run(str(source), "-o", str(proved), program="verify-rules")[0] == 0
    basis, gains, trades = (
        tmp_path / "basis.rules",
        tmp_path / "gains.rules",
        tmp_path / "trades.rules",
    )
    assert run("part", "-q", str(proved), "--basis", str(basis))[0] == 0
    assert names(read(basis)) == ["twice", "apart"]
    code, _, err = run("choose", "-o", str(gains), str(source))
    assert code == 1 and "it is not proved" in err and not gains.exists()
    assert run("choose", "-o", str(gains), "--trades", str(trades), str(proved))[0] == 0
    assert names(read(gains)) == ["twice", "apart-back"] and not names(read(trades))
    assert read(gains).count("\nproved ") == 1  # apart-back is still to be proved
    library = tmp_path / "library.rules"
    library.write_text(read(basis).split("\n\n")[0] + "\n", encoding="utf-8")
    assert run("choose", str(proved), "-o", str(gains), "--known", str(library))[0] == 0
    assert names(read(gains)) == ["apart-back"]


def test_commands_know_their_options():
    """An option of another command, a missing command and missing files are usage errors."""
    for words, what in (
        ((), "expected a command"),
        (("search",), "expected a command"),
        (("derive", "one.rules"), "derive RULES KNOWN..."),
        (("part", "a", "b"), "part VERDICTS"),
        (("part", "a"), "give --output for the proved rules, or --basis"),
        (("part", "a", "--rest", "b"), "give --output for the proved rules, or --basis"),
        (("part", "a", "--all", "--basis", "b"), "--basis: --all skips the search for a basis"),
        (("choose", "a", "--basis", "b"), "--basis: the command choose has no such option"),
        (("part", "a", "-o", "b", "--unproved"), "--unproved: the command part"),
    ):
        code, _, err = run(*words)
        assert code == 2 and what in err, (words, err)


def test_without_a_search_no_basis_is_counted(tmp_path):
    proved, json = tmp_path / "p.rules", tmp_path / "c.json"
    plain = os.path.join(ROOT, "rules/library/merge.rules")
    code, out, _ = run("part", plain, "--all", "-o", str(proved), "--json", str(json))
    assert code == 0 and re.search(r": \d+ rules, \d+ proved$", out.strip()), out
    assert '"basis":\tnull' in read(json)


def test_search_has_the_gains_beside_the_library():
    """optimize-model uses the rules of both, or only those of a file that is given."""
    gains = names(read(os.path.join(KEPT, "search/gains.rules")))
    code, out, _ = run("--list-rules", program="optimize-model")
    assert code == 0
    listed = [line.split()[1] for line in out.splitlines() if line.startswith(("on ", "off "))]
    assert set(gains) <= set(listed) and "conv-merge-outputs" in listed
    code, out, _ = run(
        "--list-rules", "--rules", "rules/library/merge.rules", program="optimize-model"
    )
    assert code == 0 and not set(gains) & set(out.split())


def test_outputs_are_tried_before_the_work(tmp_path):
    """A file that cannot be written is named before a rule is read. --out still means --output."""
    there = str(tmp_path / "nosuch" / "out.rules")
    for words in (
        ("derive", "a.rules", "b.rules", "-o", there),
        ("part", "a.rules", "-o", str(tmp_path / "p.rules"), "--rest", there),
        ("part", "a.rules", "--basis", there),
        ("part", "a.rules", "-o", str(tmp_path / "p.rules"), "--json", there),
        ("choose", "a.rules", "--output", there),
        ("choose", "a.rules", "--trades", there),
        ("choose", "a.rules", "--out", there),
    ):
        code, _, err = run(*words)
        assert code == 5 and there in err and "a.rules" not in err, (words, err)
    assert "--output FILE" in run("--help")[1] and "--out " not in run("--help")[1]
