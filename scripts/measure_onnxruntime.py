"""Measures ONNX files in ONNX Runtime: one long-lived process, as --measure-with expects.

Reads one path a line; an empty line ends a batch. Answers `SECONDS PATH` or `FAIL PATH REASON` for each path, in the order asked, then an
empty line. One thread, denormals flushed, the same inputs for all files of a batch; every round runs all files once in a new random order,
after one call that is not timed, and the minimum counts. Short calls are repeated within a sample. On a busy machine long calls are
always preempted, so batches whose slowest file takes over 3 ms are measured by the thread's CPU clock; a batch uses one clock.
"""
import argparse, math, os, random, sys, time
from onnx_tools import Feed, add_feed_options, one_line, session

SAMPLE, LONG = 1e-3, 3e-3


class Measured:
    """One file of a batch: its session, or the reason why there is none."""
    def __init__(self, path, feed):
        self.path, self.reason, self.best, self.calls = path, None, math.inf, 1
        try:
            self.session = session(path)
            self.values = feed.draw(self.session.get_inputs())
            self.first = self.sample(time.perf_counter)
            self.first = min(self.first, self.sample(time.perf_counter))
            self.calls = max(1, min(1000, math.ceil(SAMPLE / max(self.first, 1e-7))))
        except Exception as error:
            self.reason = one_line(error)

    def sample(self, clock):
        """Seconds per call of one sample."""
        start = clock()
        for _ in range(self.calls):
            self.session.run(None, self.values)
        return (clock() - start) / self.calls


def measure(paths, feed, rounds, seconds):
    files = [Measured(path, feed) for path in paths]
    runs = [file for file in files if file.reason is None]
    clock = time.thread_time if max((file.first for file in runs), default=0.0) > LONG else time.perf_counter
    order, start = random.Random(len(paths)), time.monotonic()
    for done in range(rounds):
        order.shuffle(runs)
        for file in runs:
            file.session.run(None, file.values)
            file.best = min(file.best, file.sample(clock))
        if seconds and done >= 2 and time.monotonic() - start > seconds:
            break
    return files


def answer(files, out):
    for file in files:
        print(f"{file.best:.9f} {file.path}" if file.reason is None else f"FAIL {file.path} {file.reason}", file=out)
    print(file=out, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=21, help="samples of each file; the minimum counts")
    parser.add_argument("--seconds", type=float, default=0, help="stop a batch after this time, but not before 3 rounds; 0: never")
    add_feed_options(parser)
    options = parser.parse_args()
    feed, batch = Feed(options), []
    # What a library prints must not be taken for an answer.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        path = line.rstrip("\r\n")
        if path:
            batch.append(path)
            continue
        answer(measure(batch, feed, options.rounds, options.seconds), out)
        batch = []
    if batch:
        answer(measure(batch, feed, options.rounds, options.seconds), out)


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(130)
