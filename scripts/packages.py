"""need(): ends a program that lacks a Python package with a sentence, not with a traceback."""

import importlib.util, os, sys


def need(*packages):
    """Exit status 5, with what to install, if this Python lacks one of the packages."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        program = os.path.basename(sys.argv[0])
        print(
            f"{program}: {sys.executable} has no {' and no '.join(missing)}: install with "
            f"'{sys.executable} -m pip install {' '.join(missing)}', or name in ISOMER_VENV a "
            "virtual environment that has what is missing",
            file=sys.stderr,
        )
        sys.exit(5)
