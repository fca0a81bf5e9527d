"""Arithmetic on sizes, without torch."""

from __future__ import annotations

from typing import Any

import pytest

from tvm import relax, tir
from tvm.error import OpAttributeUnImplemented
from tvm.ir import structural_equal
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend.torch.registry import functions

n = tir.SizeVar("n", "int64")
x = relax.Var("x", relax.TensorStructInfo((n, 3), "float32"))


def call(name: str, *args: Any) -> Any:
    return functions()[name](BlockBuilder(), *args)


@pytest.mark.parametrize(
    ("name", "args", "wanted"),
    [("add", (2, 3), 5), ("floordiv", (7, 2), 3), ("mod", (7, 4), 3), ("truediv", (7, 2), 3.5),
     ("pow", (2, 3), 8), ("sym_max", (2, 3), 3), ("sym_min", (2, 3), 2), ("eq", (2, 2), True),
     ("sym_sum", ([1, 2, 3],), 6), ("sym_float", (2,), 2.0), ("sym_int", (2.7,), 2),
     ("ceil", (2.1,), 3), ("sym_not", (True,), False), ("sym_ite", (False, 1, 2), 2),
     ("_sym_sqrt", (6.25,), 2.5), ("_sym_log2", (8,), 3.0), ("_sym_tanh", (0,), 0.0)],
)  # fmt: skip
def test_numbers(name: str, args: Any, wanted: Any) -> None:
    assert call(name, *args) == wanted


@pytest.mark.parametrize(
    ("name", "args", "wanted"),
    [("add", (n, 3), n + 3), ("mul", (n, n), n * n), ("floordiv", (n, 2), tir.floordiv(n, 2)),
     ("mod", (n, 4), tir.floormod(n, 4)), ("sym_max", (n, 3), tir.max(n, 3)),
     ("pow", (n, 2), n * n), ("sym_not", (n > 2,), tir.Not(n > 2)),
     ("_sym_sqrt", (n,), tir.sqrt(n.astype("float64")))],
)  # fmt: skip
def test_symbols(name: str, args: Any, wanted: Any) -> None:
    assert structural_equal(call(name, *args), wanted)


def test_shapes() -> None:
    assert call("size", x, 0) is n
    assert call("size", x) == (n, 3)
    assert call("dim", x) == 2
    assert call("stride", x) == (3, 1)
    assert structural_equal(call("numel", x), n * 3)
    assert call("getattr", x, "ndim") == 2
    assert call("getattr", x, "dtype") == "float32"
    with pytest.raises(OpAttributeUnImplemented, match="found: grad"):
        call("getattr", x, "grad")
