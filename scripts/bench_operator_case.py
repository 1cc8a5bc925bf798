"""The form of a case in bench_operator_cases.py, which explains the fields."""

from collections import namedtuple

Case = namedtuple("Case", "family name op inputs attrs outputs opset")


def case(family, name, op, *inputs, outputs=1, opset=21, **attrs):
    return Case(family, name, op, inputs, attrs, outputs, opset)
