"""Runs optimize-model of one build many times, as children of a process that has read the rules
(test/fuzz/forks.c)."""

import os, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "test", "onnx"))
BUILD = os.path.join(ROOT, os.environ.get("ISOMER_BUILD", os.environ.get("BUILD", "build")))
BUILDS = {"plain": BUILD, "sanitized": os.path.join(ROOT, "build", "asan-ubsan")}
EAGER = os.path.join(ROOT, "test", "onnx", "prefer-rewritten")
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:malloc_context_size=8"
    ":quarantine_size_mb=32",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "LD_BIND_NOW": "1",
}


def program(build, name):
    return os.path.join(BUILDS[build], name)


def forks(build):
    return program(build, os.path.join("test", "tools", "optimize-forks"))


class Server:
    """The process is started with the first run, and again if it has ended."""

    def __init__(self, build="plain", rules=None):
        self.command = [forks(build), *([rules] if rules else [])]
        self.rules, self.process = rules, None

    def run(self, arguments, messages):
        """Runs optimize-model, with standard error in a file: (exit status or minus the number of a
        signal, seconds, KB)."""
        if not self.process or self.process.poll() is not None:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=dict(os.environ, **SANITIZERS),
                text=True,
            )
        words = [messages, *arguments, *(["--rules", self.rules] if self.rules else [])]
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if len(answer) != 3:
            raise RuntimeError(f"optimize-forks ended: {self.process.wait()}")
        return os.waitstatus_to_exitcode(int(answer[0])), float(answer[1]), int(answer[2])

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()
            self.process = None
