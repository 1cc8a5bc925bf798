"""Measures ONNX files in ONNX Runtime: one long-lived process, as optimize-model --measure-with
expects, which starts another process for each batch.

Reads one path a line; an empty line ends a batch. For each path, in the order asked, it answers
`SECONDS PATH` or `FAIL PATH REASON`, then an empty line. ONNX Runtime uses one thread, or as many
as --threads says, and flushes denormals; all files of a batch get the same inputs. Every round
visits each file once, in a new random order. A visit is one call to warm up, unless calls are long,
and then several samples within some milliseconds.

Slow files are dropped early (successive halving: Karnin, Koren, Somekh, 2013). After two rounds,
the files that were 15 % slower than the fastest in both are dropped; after --few rounds, the slower
half and those that are 5 % slower than the fastest; after as many rounds again, half of the rest
and those that are 3 % slower; and so on. The first file, the original, is never dropped. The
measurement ends early when it is the only one left, or when no other file is 1 % faster. Where
calls are so long that all rounds would take more than --budget seconds, there are fewer rounds, but
at least 4.

Time is the processor time of the process, since on a busy machine long calls are always preempted;
with more threads, and with --provider cuda, it is the time by the clock. On a GPU, inputs and
outputs stay in its memory, float32 is computed without TF32, and a model that ONNX Runtime cannot
run there fails.

SECONDS is the minimum over all rounds. With --statistic ratio it is the median over the rounds of
the file's time divided by the mean of the round, times the fastest round. Where the speed of a
machine changes by the second, as with neighbours on the same host, this repeats within 1.5 %, while
the minimum of long calls repeats within 5 %.

With --identity alone it prints what it measures with, the version of ONNX Runtime and the
processor, and measures nothing.
"""

import contextlib, math, multiprocessing, os, random, signal, statistics, sys, time, traceback
from concurrent.futures import ProcessPoolExecutor
from packages import fail, identity, need, option_parser, positive

if sys.argv[1:] == ["--identity"]:
    print(identity("onnxruntime"))
    sys.exit(0)
need("numpy", "onnxruntime")
from onnx_tools import Feed, add_feed_options, clock_of, one_line, runs, session  # noqa: E402

SAMPLE, VISIT = 0.2e-3, 10e-3  # seconds that a sample lasts at least, and a visit about
CLEARLY_SLOWER = 1.05, 1.03, 1.02  # times of the fastest, at the first halving, the second, ..
FASTER = 0.99  # a share of the original's time that counts as faster
SCREENED, FAR_SLOWER = 2, 1.15  # rounds before the first files are dropped; times of the fastest
LEAST_ROUNDS = 4  # even if they take longer than the budget


class Measured:
    """One file of a batch: its session, or the reason why it cannot be measured, and the least
    seconds per call of each visit."""

    def __init__(self, path, feed, threads, visit, provider="cpu"):
        self.path, self.reason, self.visits = path, None, []
        self.clock = clock_of(threads) if provider == "cpu" else time.perf_counter
        try:
            self.session = session(path, threads, provider=provider)
            self.values = feed.draw(self.session.get_inputs())
            self.call = runs(self.session, self.values)
            self.binding = self.bound() if provider == "cuda" else None
            first = min(self.sample(1) for _ in range(2))
            self.first = max(first, visit)
            self.calls = max(1, math.ceil(SAMPLE / max(first, 1e-6)))
            self.warms_up = first < visit
            self.samples = max(1, min(10, int(visit / max(first, SAMPLE))))
        except Exception as error:
            self.reason = one_line(error)

    def bound(self):
        """A binding that keeps inputs and outputs in the GPU's memory."""
        import onnxruntime

        binding = self.session.io_binding()
        for name, value in self.values.items():
            there = onnxruntime.OrtValue.ortvalue_from_numpy(value, "cuda", 0)
            binding.bind_ortvalue_input(name, there)
        for output in self.session.get_outputs():
            binding.bind_output(output.name, "cuda")
        return binding

    def run(self):
        if self.binding:
            self.session.run_with_iobinding(self.binding)  # returns when the GPU is done
        else:
            self.call()

    def sample(self, calls):
        """The mean seconds per call of so many calls."""
        start = self.clock()
        for _ in range(calls):
            self.run()
        return (self.clock() - start) / calls

    def visit(self):
        if self.warms_up:
            self.run()
        self.visits.append(min(self.sample(self.calls) for _ in range(self.samples)))


def rounds_of(files):
    """For each round, the mean seconds of the files that were in all rounds."""
    most = max(len(file.visits) for file in files)
    return [
        statistics.fmean(times)
        for times in zip(*(file.visits for file in files if len(file.visits) == most))
    ]


def share(file, rounds):
    """The median over the rounds of a file's time divided by the mean of the round."""
    return statistics.median(own / mean for own, mean in zip(file.visits, rounds))


def still_in(runs, slower):
    """The files that stay after a halving: the first, with which the others are compared, and the
    faster half, except files that take `slower` times as long as the fastest. Only the first if no
    file is faster."""
    rounds = rounds_of(runs)
    shares = [share(file, rounds) for file in runs]
    if min(shares) > FASTER * shares[0]:
        return runs[:1]
    ranks = sorted(range(1, len(runs)), key=shares.__getitem__)
    half = set(ranks[: len(runs) // 2])
    return [
        file
        for k, file in enumerate(runs)
        if not k or k in half and shares[k] <= slower * min(shares)
    ]


def screened(runs):
    """The files that stay after the first rounds: all except those that were far slower than the
    fastest in every round. The first file always stays."""
    best = [min(times) for times in zip(*(file.visits for file in runs))]
    far = lambda file: all(t > FAR_SLOWER * b for t, b in zip(file.visits, best))
    return [file for k, file in enumerate(runs) if not k or not far(file)]


def affordable(runs, rounds, few, budget):
    """(rounds, rounds after which files are dropped), reduced so that all rounds take about
    `budget` seconds."""
    part = budget / max(rounds * sum(file.first for file in runs), 1e-9) if budget else 1
    if part >= 1:
        return rounds, few
    fewer = min(rounds, max(LEAST_ROUNDS, int(rounds * part)))
    return fewer, few and max(SCREENED, round(few * fewer / rounds))


def measure(paths, feed, rounds, threads=1, few=None, visit=VISIT, budget=None, **where):
    """Measures a batch: a list of Measured, in the order of the paths. After every `few` rounds the
    slower half and the files that are clearly slower are dropped; None: no file is. `where`: the
    provider, if not the CPU."""
    files = [Measured(path, feed, threads, visit, **where) for path in paths]
    runs, order = [file for file in files if file.reason is None], random.Random(len(paths))
    rounds, few = affordable(runs, rounds, few, budget)
    for done in range(rounds):
        if few and done == SCREENED < few:
            runs = screened(runs)
        if few and done and done % few == 0 and runs:
            step = min(done // few, len(CLEARLY_SLOWER)) - 1
            runs = still_in(runs, CLEARLY_SLOWER[step])
            if len(runs) == 1:
                break
        for file in order.sample(runs, len(runs)):
            file.visit()
    return files


def visits_of(paths, feed, rounds):
    """The visits of each file; [] for one that cannot be measured, with the reason."""
    return [(file.visits, file.reason) for file in measure(paths, feed, rounds)]


@contextlib.contextmanager
def small_pages():
    """Processes that are started meanwhile get memory on pages of 4 KiB, whatever with-python has
    asked for."""
    known = os.environ.get("GLIBC_TUNABLES")
    os.environ["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=0"
    try:
        yield
    finally:
        if known is None:
            del os.environ["GLIBC_TUNABLES"]
        else:
            os.environ["GLIBC_TUNABLES"] = known


def measure_in_new_process(paths, feed, rounds):
    """The visits of each file in so many rounds, measured by a process that has loaded nothing
    before. Raises RuntimeError if a file cannot be measured."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        answers = pool.submit(visits_of, paths, feed, rounds).result()
    for path, (_, reason) in zip(paths, answers):
        if reason:
            raise RuntimeError(f"{path}: {reason}")
    return [visits for visits, _ in answers]


def seconds(files, statistic):
    """The seconds of each file by this statistic; None where the file did not run."""
    runs = [file for file in files if file.reason is None]
    if statistic == "minimum" or not runs:
        return [min(file.visits) if file.reason is None else None for file in files]
    rounds = rounds_of(runs)
    return [share(file, rounds) * min(rounds) if file.reason is None else None for file in files]


def answer(files, statistic, out):
    for file, value in zip(files, seconds(files, statistic)):
        print(
            f"{value:.9f} {file.path}" if value is not None else f"FAIL {file.path} {file.reason}",
            file=out,
        )
    print(file=out, flush=True)


def apart(work):
    """Calls work() in a forked process, whose memory is given back when it ends. Without this, the
    memory would have the holes that earlier batches left, and the first sessions of a batch would
    run slower than the others. If the forked process fails or is killed, this one ends in the same
    way."""
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        except (KeyboardInterrupt, BrokenPipeError):
            code = 130
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    if code:
        sys.exit(code)


def has_gpu():
    import onnxruntime

    return "CUDAExecutionProvider" in onnxruntime.get_available_providers()


def main():
    parser = option_parser(__doc__)
    parser.add_argument("--rounds", type=positive, default=21, help="rounds of a batch")
    parser.add_argument(
        "--few",
        type=positive,
        default=7,
        help="rounds after which clearly slower files are dropped",
    )
    parser.add_argument(
        "--budget",
        type=float,
        help="seconds that all rounds may take; there are fewer rounds if they would take longer",
    )
    parser.add_argument(
        "--threads", type=positive, default=1, help="ONNX Runtime threads within an operator"
    )
    parser.add_argument(
        "--visit",
        type=float,
        default=VISIT * 1e3,
        help="milliseconds that a file is sampled in each round",
    )
    parser.add_argument(
        "--statistic",
        choices=["minimum", "ratio"],
        default="minimum",
        help="how the time of a file is computed: its minimum, or the median of its ratio to the "
        "mean of the round, times the fastest round",
    )
    parser.add_argument(
        "--provider", choices=["cpu", "cuda"], default="cpu", help="where ONNX Runtime runs"
    )
    parser.add_argument(
        "--identity",
        action="store_true",
        help="alone: print the version of ONNX Runtime and the processor, and end",
    )
    add_feed_options(parser)
    options = parser.parse_args()
    if options.identity:
        parser.error("--identity takes no other option")
    where = {} if options.provider == "cpu" else {"provider": options.provider}
    if where and not has_gpu():
        fail(5, "this ONNX Runtime has no CUDA provider: pip install onnxruntime-gpu")
    import onnxruntime  # noqa: F401  once, for all batches

    feed, batch = Feed(options), []
    # Standard output is for answers only: what a library prints goes to standard error.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def batch_done():
        files = measure(
            batch,
            feed,
            options.rounds,
            options.threads,
            options.few,
            options.visit / 1e3,
            options.budget,
            **where,
        )
        answer(files, options.statistic, out)

    for line in sys.stdin:
        path = line.rstrip("\r\n")
        if path:
            batch.append(path)
            continue
        apart(batch_done)
        batch.clear()
    if batch:
        apart(batch_done)


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(130)
