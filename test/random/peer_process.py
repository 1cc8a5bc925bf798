"""Another optimizer as a long-lived process (peer_server.py) in the virtual environment that
install-peers makes. Environment: PEERS, the folder of that environment (BUILD/peers)."""

import os, subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
VENV = os.environ.get("PEERS", os.path.join(ROOT, os.environ.get("BUILD", "build"), "peers"))


class Peer:
    """A process of another optimizer."""

    def __init__(self, name, venv=VENV):
        self.name = name
        self.process = subprocess.Popen(
            [os.path.join(venv, "bin", "python"), os.path.join(HERE, "peer_server.py"), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.version = self.process.stdout.readline().strip()

    def optimize(self, into, out):
        """Optimizes a file: (kind of failure or "", details)."""
        self.process.stdin.write(f"{into}\t{out}\n")
        self.process.stdin.flush()
        word, _, what = self.process.stdout.readline().strip().partition(" ")
        return {"done": "", "signal": "crash"}.get(word, word), what
