"""The cases of bench_operator_cases.py whose operators are not of ONNX's own domain: products and
LSTMs with quantized weights (com.microsoft) and ensembles of trees (ai.onnx.ml)."""

import random
from bench_operator_case import case


def few_bits(name, rows, bits, block, zeros=False, terms=2048, columns=2048):
    """A case of a matrix product with weights of 4 or 8 bits (MatMulNBits), as the tools of ONNX
    Runtime quantize them: `terms` by `columns`, a scale for each `block` of terms."""
    blocks = terms // block
    packed = [f"=u8 {columns},{blocks * bits // 8} 0..255"] if zeros else []
    return case(
        "few bits",
        name,
        "com.microsoft.MatMulNBits",
        f"f32 {rows},{terms}",
        f"=u8 {columns},{blocks},{block * bits // 8} 0..255",
        f"=f32 {columns},{blocks} 0.004..0.01",
        *packed,
        K=terms,
        N=columns,
        bits=bits,
        block_size=block,
    )


def quantized_lstm(name, times, hidden):
    return case(
        "few bits",
        name,
        "com.microsoft.DynamicQuantizeLSTM",
        f"f32 {times},1,{hidden}",
        *[f"=i8 1,{hidden},{4 * hidden} -127..127"] * 2,
        f"=f32 1,{8 * hidden} -0.1..0.1",
        *["-"] * 4,
        *["=f32 1 0.0008..0.001", "=i8 1 0..0"] * 2,
        hidden_size=hidden,
        outputs=3,
    )


def forest(name, rows, trees, depth, features=32):
    """A case of an ensemble of complete trees of this depth, with one number in each leaf."""
    drawn, lists, leaves = random.Random(1), [], []
    for tree in range(trees):
        for node in range(2 ** (depth + 1) - 1):
            leaf = node >= 2**depth - 1
            kind = ("LEAF", 0, 0) if leaf else ("BRANCH_LEQ", 2 * node + 1, 2 * node + 2)
            lists.append((tree, node, drawn.randrange(features), drawn.uniform(-1, 1), *kind))
            if leaf:
                leaves.append((tree, node, 0, drawn.uniform(-1, 1)))
    names = ["treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids"]
    attrs = {f"nodes_{n}": list(v) for n, v in zip(names, zip(*lists))}
    names = ["treeids", "nodeids", "ids", "weights"]
    attrs |= {f"target_{n}": list(v) for n, v in zip(names, zip(*leaves))}
    op = "ai.onnx.ml.TreeEnsembleRegressor"
    return case("trees", name, op, f"f32 {rows},{features}", n_targets=1, **attrs)


TREES = [
    forest("a row, 100 of depth 6", 1, 100, 6),
    forest("100 rows, 100 of depth 6", 100, 100, 6),
    forest("1000 rows, 100 of depth 10", 1000, 100, 10),
]
FEW_BITS = [
    few_bits("4, a row", 1, 4, 32),
    few_bits("4, a row, zero points", 1, 4, 32, zeros=True),
    few_bits("4, a row, blocks of 128", 1, 4, 128),
    few_bits("4, a row, blocks of 16", 1, 4, 16),
    few_bits("8, a row", 1, 8, 32),
    few_bits("4, 8 rows", 8, 4, 32),
    few_bits("4, 16 rows", 16, 4, 32),
    few_bits("4, 128 rows", 128, 4, 32),
    few_bits("4, a row of 4096", 1, 4, 32, terms=4096, columns=4096),
    quantized_lstm("LSTM, t 20, 512", 20, 512),
    quantized_lstm("LSTM, t 20, 256", 20, 256),
]
