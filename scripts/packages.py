"""The user interface that the Python programs of this folder share: their name, their help and
options, and the errors about words that name nothing and about missing packages."""

import argparse, glob, importlib.util, os, sys


def program():
    """The name that the user typed: that of the shell script that starts this program, if there is
    one, otherwise that of the Python file."""
    folder, file = os.path.split(os.path.abspath(sys.argv[0]))
    script = os.path.splitext(file)[0].replace("_", "-")
    return script if os.path.isfile(os.path.join(folder, script)) else file


def show_help(doc):
    """For a program without a parser: if the first argument is --help, prints the docstring and
    ends."""
    if sys.argv[1:2] in (["-h"], ["--help"]):
        print(doc.strip())
        sys.exit(0)


def fail(code, text):
    """Ends the program with this exit status and a line on standard error."""
    print(f"{program()}: {text}", file=sys.stderr)
    sys.exit(code)


def option_parser(doc):
    """A parser for the program with this docstring. Its description is the text before "usage" if
    there is such a paragraph, otherwise the first paragraph."""
    text = doc.split("\n\nusage")[0] if "\n\nusage" in doc else doc.split("\n\n", maxsplit=1)[0]
    return argparse.ArgumentParser(prog=program(), description=text)


def positive(text):
    """A type for argparse: an integer of at least 1."""
    if not text.isascii() or not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"{text}: expected an integer of at least 1")
    return int(text)


def table_file(path):
    """A type for argparse: a file that exists, such as a table of models."""
    if not os.path.isfile(path):
        raise argparse.ArgumentTypeError(f"{path}: there is no such file")
    return path


def check_words(words, names, fits=lambda word, name: word in name, listed=None):
    """Ends with exit status 2 if one of the words fits none of the names. The message lists the
    names, or `listed`."""
    for word in words:
        if not any(fits(word, name) for name in names):
            fail(2, f"nothing is named {word}; the known names are: {' '.join(listed or names)}")


def need(*packages):
    """Ends with exit status 5 if a package is missing, and says how to install it."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        fail(
            5,
            f"{sys.executable} has no {' and no '.join(missing)}: install with "
            f"'{sys.executable} -m pip install {' '.join(missing)}', or name in ISOMER_VENV a "
            "virtual environment that has what is missing",
        )


def identity(package):
    """What the times of a package depend on: its version, and the kind and features of the
    processor, as lines. The package itself is not loaded, which would take long."""
    spec, lines = importlib.util.find_spec(package), []
    if spec and spec.origin:
        site = os.path.dirname(os.path.dirname(spec.origin))
        lines += sorted(map(os.path.basename, glob.glob(f"{site}/{package}*.dist-info")))
    kinds = ("model name", "flags", "Features", "CPU implementer", "CPU part")
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if not line.strip():
                break  # the others are like the first
            if line.startswith(kinds):
                lines.append(line.strip())
    return "\n".join(lines)
