"""What export-rules writes for egglog can be read back, and checks all that a rule needs."""

import json, os, re, subprocess
import numpy
from test_export import LIBRARY, SEARCH, VERIFY, counts, exported


def parsed(text):
    """S-expressions as lists of lists and words."""
    stack = [[]]
    for word in re.findall(r'"[^"]*"|[()]|[^\s()"]+', re.sub(r"(?m)(^|\) ?);.*$", r"\1", text)):
        if word == "(":
            stack.append([])
        elif word == ")":
            stack[-2].append(stack.pop())
        else:
            stack[-1].append(word)
    assert len(stack) == 1
    return stack[0]


def leaves(x):
    """Yields (name, None) for each variable and (name, number of arguments) for each call."""
    for k, item in enumerate(x):
        if isinstance(item, list):
            yield from leaves(item)
        elif k == 0:
            yield item, len(x) - 1
        elif not re.match(r'"|-?\d', item):
            yield item, None


def test_egglog(tmp_path):
    out = tmp_path / "rules.egg"
    _, chosen, _, _, _, written, lost = counts(exported(out, "--format", "egglog", *LIBRARY))
    commands = parsed(out.read_text())
    places = {c[1]: len(c[2]) for c in commands if c[0] in ("constructor", "function")}
    rules = [c for c in commands if c[0] == "rule"]
    assert (
        len(rules) == written > 400
        and len({r[-1] for r in rules}) == written
        and lost < chosen // 5
    )
    for _, query, actions, *_ in rules:
        bound = {name for name, n in leaves([["query", *query]]) if n is None}
        for action in actions:
            if action[0] == "let":
                bound.add(action[1])
            assert {name for name, n in leaves([action]) if n is None} <= bound, action
        for name, n in leaves([["rule", *query, *actions]]):
            assert (
                n is None
                or name in ("rule", "=", "<=", ">=", "+", "*", "/", "min", "let", "union")
                or places[name] == n
            ), name
        assert sum(a[0] == "union" for a in actions) >= 1
    exported(tmp_path / "again.egg", "--format", "egglog", *LIBRARY)
    assert (tmp_path / "again.egg").read_bytes() == out.read_bytes()


CONDITIONAL = """rule sum-of-broadcast
  %x : F [n, c]
from
  %z = broadcast %x shape=[m, c]
  %s = reduce_sum %z axes=[0]
  out %s
to
  %s = reduce_sum %x axes=[0]
  out %s

rule step-one
  %x : F [n]
from
  %y = slice %x starts=[a] sizes=[m] steps=[s]
  out %y
to
  %y = slice %x starts=[a] sizes=[m] steps=[1]
  out %y
where s*s == 1

rule floor-of-floor
  %x : F [n] %y : F [floor(floor((n + a)/2)/s)]
from
  %z = relu %x
  %u = relu %y
  %v = relu %u
  %s = slice %x starts=[a] sizes=[m] steps=[s]
  out %v %z %s
to
  %z = relu %x
  %u = relu %y
  %s = slice %x starts=[a] sizes=[m] steps=[s]
  out %u %z %s
"""


def number(x, at):
    """The value of an expression of an egglog rule, with variables as in `at`; None for what is not
    a number there."""
    if isinstance(x, str):
        return at.get(x, int(x) if re.fullmatch(r"-?\d+", x) else None)
    operators = {"+": int.__add__, "*": int.__mul__, "min": min, "/": lambda a, b: int(a / b)}
    if x[0] not in operators:
        return None
    a, b = (number(y, at) for y in x[1:])
    return None if None in (a, b) or (x[0], b) == ("/", 0) else operators[x[0]](a, b)


def matches(query, at):
    """Whether the comparisons of numbers in a query of egglog hold. `at` gets the values of the
    variables that stand for polynomials."""
    for name, *sides in query:
        if name == "=" and re.fullmatch(r"e\d+", sides[0]) and isinstance(sides[1], list):
            at[sides[0]] = number(sides[1], at)
    for name, *sides in query:
        a, b = (number(x, at) for x in sides) if len(sides) == 2 else (None, None)
        if a is None or b is None:
            if name in ("<=", ">=") or (name == "=" and sides[0] == "0"):
                return False
        elif not {"=": a == b, "<=": a <= b, ">=": a >= b}[name]:
            return False
    return True


def holds(condition, at):
    """Whether a condition of the JSON file holds."""
    python = condition.replace("^", "**").replace("/", "//")
    return eval(python, {"floor": int, "min": min, **at})


def test_egglog_checks_all_conditions(tmp_path):
    rules, proved = tmp_path / "r.rules", tmp_path / "proved.rules"
    rules.write_text(CONDITIONAL)
    subprocess.run([VERIFY, "-q", rules, "-o", proved], check=True, timeout=250)
    files = [*LIBRARY, *SEARCH, proved]
    exported(tmp_path / "r.json", "--format", "json", *files)
    exported(tmp_path / "r.egg", "--format", "egglog", *files)
    queries = {
        r[-1].strip('"'): r[1] for r in parsed((tmp_path / "r.egg").read_text()) if r[0] == "rule"
    }
    assert {r["name"] for r in json.load(open(tmp_path / "r.json"))["rules"][-3:]} <= set(queries)
    random, tried, matched = numpy.random.default_rng(0), 0, set()
    for r in json.load(open(tmp_path / "r.json"))["rules"]:
        for i in r["instances"]:
            name = ".".join([r["name"], *map(str, i["lengths"])])
            conditions = i["where"] + i["needs_from"]
            if name not in queries or not conditions:
                continue
            tried += 1
            for least in 0, 1:
                for _ in range(100):
                    at = {v: int(random.integers(least, 3)) for v in i["sizes"]}
                    at |= {v: int(random.integers(3 * least - 2, 3)) for v in i["integers"]}
                    if matches(queries[name], {f"?{v}": x for v, x in at.items()}):
                        matched.add(name)
                        assert all(holds(c, at) for c in conditions), (name, at)
    assert len(matched) > tried / 2
