"""How a Python program of this folder meets its user: its name, its options, words that name
nothing, and packages that are missing."""

import argparse, importlib.util, os, sys


def program():
    """The name that the user typed: NAME of the script that starts NAME.py, if there is one."""
    folder, file = os.path.split(os.path.abspath(sys.argv[0]))
    script = os.path.splitext(file)[0].replace("_", "-")
    return script if os.path.isfile(os.path.join(folder, script)) else file


def show_help(doc):
    """Of a program without a parser: --help prints the docstring and ends it."""
    if sys.argv[1:2] in (["-h"], ["--help"]):
        print(doc.strip())
        sys.exit(0)


def fail(code, text):
    """Ends with this exit status and a line on standard error."""
    print(f"{program()}: {text}", file=sys.stderr)
    sys.exit(code)


def option_parser(doc):
    """A parser for the program with this docstring, whose first paragraph says what it does."""
    text = doc.split("\n\nusage")[0] if "\n\nusage" in doc else doc.split("\n\n", maxsplit=1)[0]
    return argparse.ArgumentParser(prog=program(), description=text)


def positive(text):
    """Of an option that is a number of things, 1 or more."""
    if not text.isascii() or not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"{text}: expected an integer of at least 1")
    return int(text)


def table_file(path):
    """Of an option that names a table of models."""
    if not os.path.isfile(path):
        raise argparse.ArgumentTypeError(f"{path}: there is no such file")
    return path


def check_words(words, names, fits=lambda word, name: word in name, listed=None):
    """Exit status 2 if one of the words fits none of the names, which are then listed."""
    for word in words:
        if not any(fits(word, name) for name in names):
            fail(2, f"nothing is named {word}; known are: {' '.join(listed or names)}")


def need(*packages):
    """Exit status 5, with what to install, if this Python lacks one of the packages."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        fail(
            5,
            f"{sys.executable} has no {' and no '.join(missing)}: install with "
            f"'{sys.executable} -m pip install {' '.join(missing)}', or name in ISOMER_VENV a "
            "virtual environment that has what is missing",
        )
