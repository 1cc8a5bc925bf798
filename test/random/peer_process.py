"""Another optimizer as a process that stays (peer_server.py), in the virtual environment of
install-peers. Environment: PEERS, that folder (BUILD/peers)."""

import os, subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
VENV = os.environ.get("PEERS", os.path.join(ROOT, os.environ.get("BUILD", "build"), "peers"))


class Peer:
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
        """(kind or "", what)"""
        self.process.stdin.write(f"{into}\t{out}\n")
        self.process.stdin.flush()
        word, _, what = self.process.stdout.readline().strip().partition(" ")
        return {"done": "", "signal": "crash"}.get(word, word), what
