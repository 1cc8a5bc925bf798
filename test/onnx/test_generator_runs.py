"""Whole runs of generate-rules write the same bytes however the work is divided or interrupted,
find the same classes with any seed, and find with representatives alone what all terms give."""

import json, os, random, shutil, signal, subprocess, time
import pytest
from conftest import SLOWER
from small_models import ASAN
from test_generator import BUILD, generate

# ---- the same bytes

TASO = ["--ops", "generator/sets/taso.set"]


@pytest.fixture(scope="module")
def alone():
    return generate(*TASO, "--size", 3)


@pytest.mark.skipif(
    not os.path.exists(f"{BUILD}/generate-rules-mpi") or not shutil.which("mpirun"),
    reason="no MPI here",
)
@pytest.mark.parametrize(
    "processes, more",
    [(1, []), (2, []), (4, []), (3, ["--memory-limit", "100K"]), (3, ["--resume"])],
)
def test_mpi_gives_the_same(alone, processes, more, tmp_path, monkeypatch):
    if ASAN:  # Open MPI leaks
        monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    mpirun = [
        "mpirun",
        *root,
        "--oversubscribe",
        "-n",
        str(processes),
        f"{BUILD}/generate-rules-mpi",
    ]
    assert (
        generate(
            *TASO, "--size", 3, *more, *([tmp_path] if more == ["--resume"] else []), program=mpirun
        )
        == alone
    )


@pytest.mark.parametrize("jobs", [2, 3])
def test_jobs_give_the_same(alone, jobs):
    """All threads work on classes, candidates and lifts in batches."""
    assert generate(*TASO, "--size", 3, "--jobs", jobs) == alone


def kill_and_resume(size, kills, longest, folder, seed):
    """Kills runs and resumes them. Returns how many were killed before they ended, and what the
    last run, which is not killed, wrote."""
    command, killed, r = (
        [
            f"{BUILD}/generate-rules",
            *TASO,
            "--size",
            str(size),
            "--resume",
            str(folder),
            "-j",
            "2",
            "-q",
        ],
        0,
        random.Random(seed),
    )
    for _ in range(kills):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(r.uniform(0, longest))
        except subprocess.TimeoutExpired:
            process.kill()
            killed += 1
        process.wait()
    return killed, generate(*TASO, "--size", size, "--resume", folder, timeout=2500)


def test_killed_runs_go_on(alone, tmp_path):
    killed, text = kill_and_resume(3, 4, 1.5, tmp_path, 1)
    assert killed and text == alone


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("kept", [False, True])
def test_a_signal_ends_a_run(alone, kept, number, tmp_path):
    """Sorted runs that nobody asked for are removed; with --resume they stay and are used again."""
    folders = tmp_path / "temporary", tmp_path / "kept"
    for folder in folders:
        folder.mkdir()
    command = [f"{BUILD}/generate-rules", *TASO, "--memory-limit", "1K", "-j", "2", "-q"]
    more = ["--resume", folders[1]] if kept else []
    process = subprocess.Popen(
        [*command, "--size", "3" if kept else "4", *more],
        env=dict(os.environ, TMPDIR=str(folders[0])),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(6000):
        if sum("level-3" in file.name for file in folders[kept].rglob("*")) > 5:
            break
        time.sleep(0.01)
    process.send_signal(number)
    said = process.communicate(timeout=30 * SLOWER)[1]
    assert process.returncode == 130, said
    assert said == "generate-rules: stopped by a signal (interrupted)\n"
    assert not list(folders[0].iterdir())
    assert any(folders[1].iterdir()) == kept
    if kept:
        assert generate(*TASO, "--size", 3, "--memory-limit", "1K", *more) == alone


@pytest.mark.skipif(os.environ.get("ISOMER_HEAVY") != "1", reason="takes minutes: make test-heavy")
def test_ten_kills_at_size_4(tmp_path):
    start = time.time()
    text = generate(*TASO, "--size", 4, "-j", "2", timeout=2500)
    seconds = time.time() - start
    killed, again = kill_and_resume(
        4, 10, seconds / 2, tmp_path, 2
    )  # a resumed run takes less than a fresh one
    print(
        f"{killed} of 10 runs of size 4 killed, at random moments of {seconds / 2:.0f} s;"
        f" {text.count('rule taso')} rules, the same bytes: {again == text}"
    )
    assert killed >= 5 and again == text


# ---- the same classes


def figures(tmp_path, *options):
    generate(*options, "-o", tmp_path / "out", "--json", tmp_path / "json")
    return json.loads((tmp_path / "json").read_text())


@pytest.mark.parametrize("name", ["attention", "elementwise", "taso"])
def test_another_seed_finds_the_same_classes(name, tmp_path):
    """The numbers differ only by what the second stage alone tells apart, which both runs count."""
    a, b = (
        figures(tmp_path, "--ops", f"generator/sets/{name}.set", "--size", 3, "--seed", seed)
        for seed in (1, 20)
    )
    for x, y in zip(a["levels"], b["levels"]):
        assert abs(x["classes"] - y["classes"]) <= a["coincidences"] + b["coincidences"]
        assert abs(x["terms"] - y["terms"]) <= 0.001 * x["terms"]
    assert a["coincidences"] + b["coincidences"] < 10


@pytest.mark.parametrize("size", [2, 3])
def test_representatives_give_what_all_terms_give(size, tmp_path):
    """Every rule that is found by extending all terms follows, at all lengths of its axis blocks,
    from the rules that are found by extending representatives and terms that share a part with
    them. Among them is relu(I x) = I relu(x), which other rules give only for matrices."""
    rules = generate(*TASO, "--size", size, "--exhaustive")
    (tmp_path / "given.rules").write_text(rules)
    (tmp_path / "known.rules").write_text(generate(*TASO, "--size", size))
    compare = [f"{BUILD}/compare-rules", "derive", "--unproved"]
    files = [tmp_path / "given.rules", tmp_path / "known.rules"]
    lines = subprocess.check_output([*compare, *files], text=True).strip().split("\n")
    lost = [line for line in lines if line.startswith("not derived")]
    assert len(lines) == rules.count("rule taso") + 1 > 100
    assert not lost, lost
