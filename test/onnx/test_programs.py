"""What all programs have in common: all forms of --help come from one table, and --version names
the libraries that are linked."""

import os, re, shutil, subprocess
import pytest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.abspath(os.path.join(ROOT, os.environ.get("ISOMER_BUILD", "build")))
PROGRAMS = [
    name
    for name in (
        "compare-rules",
        "discover-rules",
        "export-rules",
        "generate-rules",
        "optimize-model",
        "run-model",
        "verify-rules",
    )
    if os.path.exists(os.path.join(BUILD, name))
]
LINKED = {
    "libsqlite3": "SQLite",
    "libcjson": "cJSON",
    "libprotobuf-c": "protobuf-c",
    "libdnnl": "oneDNN",
    "libz3": "Z3",
    "libzip": "libzip",
    "libopenblas": "OpenBLAS",
    "libxxhash": "xxHash",
}


def run(name, *words):
    return subprocess.run(
        [os.path.join(BUILD, name), *words], capture_output=True, text=True, timeout=30
    )


def options(name):
    said = run(name, "--help")
    assert (
        said.returncode == 0
        and said.stdout == run(name, "-h").stdout == run(name, "--help=text").stdout
    )
    return re.findall(r"^ +(?:-\w, )?--([\w-]+)", said.stdout, re.M)


def test_there_are_programs():
    assert len(PROGRAMS) >= 4


@pytest.mark.parametrize("name", PROGRAMS)
def test_manual_page(name, tmp_path):
    page = run(name, "--help=man")
    assert page.returncode == 0 and f".TH {name} 1 " in page.stdout
    assert re.findall(r"^(?:\\fB\\-\w\\fR, )?\\fB\\-\\-(.*?)\\fR", page.stdout, re.M) == [
        option.replace("-", "\\-") for option in options(name)
    ]
    for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"):
        assert f"\n.SH {heading}\n" in page.stdout
    variables = {
        "discover-rules": ["ISOMER_CPU"],
        "generate-rules": ["ISOMER_CPU", "TMPDIR"],
        "optimize-model": "ISOMER_VENV XDG_CACHE_HOME XDG_DATA_HOME ISOMER_CPU TMPDIR".split(),
        "run-model": ["XDG_CACHE_HOME", "ISOMER_CPU"],
    }.get(name, [])
    _, _, environment = page.stdout.partition("\n.SH ENVIRONMENT\n")
    assert re.findall(r"^\\fB([A-Z_]+)\\fR$", environment, re.M) == variables
    assert (
        re.search(r"\n\.TP\n130\nInterrupted by the user\.\n", page.stdout)
        and page.stdout == open(os.path.join(BUILD, "man", f"{name}.1"), encoding="utf-8").read()
    )
    (tmp_path / f"{name}.1").write_text(page.stdout)
    judges = [
        ["mandoc", "-T", "lint", "-W", "warning", tmp_path / f"{name}.1"],
        ["man", "--warnings", "-l", tmp_path / f"{name}.1"],
    ]
    there = [judge for judge in judges if shutil.which(judge[0])]
    for judge in there:
        done = subprocess.run(
            judge,
            capture_output=True,
            text=True,
            timeout=60,
            env=dict(os.environ, LC_ALL="C", MANPAGER="cat"),
        )
        assert (
            done.returncode == 0 and not done.stderr and (judge[0] == "man" or not done.stdout)
        ), (done.stdout[-2000:] + done.stderr)
    if not there:
        pytest.skip("neither mandoc nor man is here to judge the page")


def complete(name, *words):
    script = run(name, "--help=bash").stdout + f"""
COMP_WORDS=({" ".join(f"'{word}'" for word in (name,) + words)})
COMP_CWORD={len(words)}
_{name.replace("-", "_")}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=30, cwd=ROOT
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("name", PROGRAMS)
def test_completion_in_bash(name):
    assert complete(name, "--") == ["--" + option for option in options(name)]
    assert complete(name, "--vers") == ["--version"] and complete(name, "READ") == ["README.md"]
    assert complete(name, "--help", "=", "b") == ["bash"]


def test_completion_knows_values():
    assert complete("optimize-model", "--cost", "") == ["measured", "flops", "nodes"] and complete(
        "optimize-model", "--cost", "f"
    ) == ["flops"]
    assert complete("optimize-model", "--rules", "no") == ["none"] and "README.md" in complete(
        "optimize-model", "--rules", "R"
    )
    assert complete("optimize-model", "--steps", "") == [] and complete(
        "optimize-model", "a.onnx", "--report", "Make"
    ) == ["Makefile"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_completion_in_zsh(name):
    """Every option is in the completion, which zsh accepts where it is installed."""
    said = run(name, "--help=zsh").stdout
    assert said.startswith(f"#compdef {name}\n") and all(
        re.search(rf"--{option}(=-?)?\[", said) for option in options(name)
    )
    assert subprocess.run(["bash", "-n"], input=said, text=True, timeout=30).returncode == 0
    if shutil.which("zsh"):
        assert subprocess.run(["zsh", "-n"], input=said, text=True, timeout=30).returncode == 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_other_forms_of_help_are_refused(name):
    done = run(name, "--help=html")
    assert (
        done.returncode == 2 and "expects text, man, bash or zsh" in done.stderr and not done.stdout
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_version_names_what_is_linked(name):
    done = run(name, "--version")
    needed = re.findall(
        r"NEEDED +(\w+[-\w]*)\.so",
        subprocess.run(
            ["objdump", "-p", os.path.join(BUILD, name)], capture_output=True, text=True, timeout=30
        ).stdout,
    )
    assert done.returncode == 0 and re.match(rf"{name} \d+\.\d+\.\d+\n", done.stdout)
    for library in needed:
        if library in LINKED:
            assert re.search(
                rf"\b{LINKED[library]} \d+\.\d+", done.stdout
            ), f"{library} is linked, and not in:\n{done.stdout}"
    assert (
        "glibc 2." in done.stdout
        and re.search(r"xxHash \d", done.stdout)
        and any(library in LINKED for library in needed)
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_output_that_cannot_be_written_is_an_error(name):
    with open("/dev/full", "w") as full:
        said = subprocess.run(
            [os.path.join(BUILD, name), "--help"], stdout=full, stderr=subprocess.PIPE, timeout=30
        )
    assert said.returncode == 5 and b"cannot write to standard output" in said.stderr
