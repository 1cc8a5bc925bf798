"""Attributes and values at the ends of what ONNX allows: a sample of what edges.py draws."""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def test_no_deviation_is_new():
    """What differs from ONNX Runtime or the reference stands in DEVIATIONS.md."""
    command = [sys.executable, os.path.join(HERE, "edges.py"), "--check", "--sample"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 of them not in DEVIATIONS.md" in done.stdout
