"""Tile registers are set before the loops that use them, and let go afterwards."""

from __future__ import annotations

import pytest

import tvm
from tvm.script import from_source
from tvm.tir.transform.configure_tiles import ConfigureTiles

PROGRAM = """
from tvm.script import ir as I, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((64,), "int32")):
        for i in T.{kind}(8, annotations={{"x86_tiles": [1, 0, 3, 4, 0, 0, 5, 0]}}):
            A[i] = i
"""


def lines(kind: str) -> list[str]:
    mod = from_source(PROGRAM.format(kind=kind))
    assert isinstance(mod, tvm.IRModule)
    return [line.strip() for line in ConfigureTiles()(mod).script().splitlines()]


@pytest.mark.pure
@pytest.mark.parametrize("kind", ["serial", "parallel"])
def test_around_a_loop_and_within_a_parallel_one(kind: str) -> None:
    text = lines(kind)
    begin, = (n for n, line in enumerate(text) if "ldtilecfg" in line)
    end, = (n for n, line in enumerate(text) if "tilerelease" in line)
    loop, = (n for n, line in enumerate(text) if line.startswith("for i in"))
    assert text[begin - 8 : begin] == [
        f"tile_words[{at}] = T.uint64({word})" for at, word in enumerate([1, 0, 3, 4, 0, 0, 5, 0])
    ]
    assert "x86_tiles" not in " ".join(text)
    assert (begin < loop < end) if kind == "serial" else (loop < begin < end)
