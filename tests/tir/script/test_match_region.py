"""A view has to fit the region that it stands for."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.error import DiagnosticError
from tvm.script import from_source

pytestmark = pytest.mark.pure
HEAD = """@T.prim_func
def f(A: T.Buffer((4, 3, 3), "float32"), n: T.int32, m: T.int32):
    with T.block("b"):
        V = T.match_buffer(A[{region}], {args})
        V[{at}] = T.float32(1)
"""


def read(region: str, args: str, at: str) -> tir.PrimFunc:
    func: tir.PrimFunc = from_source(HEAD.format(region=region, args=args, at=at))
    return func


@pytest.mark.parametrize(
    ("region", "args", "at"),
    [
        ("1, 0:1, 0:3", "(1, 3)", "0, 0"),
        ("1, 2, 0:3", "(3,)", "0"),
        ("n:n + 2, m:m + n, 0:3", "(2, n, 3)", "0, 0, 0"),
        ("1, 2, 2", "()", "()"),
    ],
)
def test_fits(region: str, args: str, at: str) -> None:
    (match,) = read(region, args, at).body.block.match_buffers
    assert match.source.buffer.name == "A"


@pytest.mark.parametrize(
    ("region", "args", "said"),
    [
        ("0, 0:1, 0:3", "(7,)",
         "The dimension mismatched between source region and target buffer shape, got 3 vs. 7."),
        ("0:2, 0, 0:3", "(3,)", "The higher dimension should be 1, but got 2."),
        ("0, 0, 0", "(1, 1, 1, 1)", "but got 3 vs. 4"),
        ("0, 0, 0:3", '(3,), "int8"', "data type mismatch: int8 vs. float32"),
        ("0, 0, 0:3", '(3,), scope="shared"', "scope mismatch: shared vs. global"),
        ("0, 0, 0:3", "(3,), align=128", "required alignment=128, provided alignment=64"),
        ("0, 0, 0:3", '(3,), buffer_type="auto"', "AutoBroadcast is not allowed"),
    ],
)  # fmt: skip
def test_refused_where_it_stands(region: str, args: str, said: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        read(region, args, "0")
    assert said in str(error.value)
    assert ":4:" in str(error.value)
