"""The root block and the accesses of blocks are filled in."""

from __future__ import annotations

import pytest

import tvm
from tvm import tir
from tvm.script import from_source

pytestmark = pytest.mark.pure
HEAD = '@T.prim_func\ndef f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):\n'
INNER = '    with T.block("root"), T.block("b"):\n'


def read(body: str) -> tir.PrimFunc:
    func: tir.PrimFunc = from_source(HEAD + body)
    return func


def test_functions_without_blocks_stay_bare() -> None:
    assert isinstance(read("    A[0] = B[0]\n").body, tir.BufferStore)


@pytest.mark.parametrize("name", ["", '"b"', '"root"'])
def test_one_block_of_its_own_is_the_root(name: str) -> None:
    func = read(f"    with T.block({name}):\n        A[0] = B[0]\n")
    assert func.body.block.name_hint == name.strip('"')
    assert (*func.body.block.reads, *func.body.block.writes) == ()


def test_loops_of_blocks_and_allocations_get_a_root() -> None:
    loop = "    for i in range(8):\n        with T.block('b'):\n"
    func = read(loop + "            vi = T.axis.S(8, i)\n            A[vi] = B[vi]\n")
    assert func.body.block.name_hint == "root"
    func = read("    C = T.alloc_buffer((8,))\n    A[0] = C[0]\n")
    assert [b.name for b in func.body.block.alloc_buffers] == ["C"]


def test_given_accesses_stay() -> None:
    func = read(f"{INNER}        T.reads(B[0:8])\n        A[0] = B[0]\n")
    block = func.body.block.body.block
    assert [str(r) for r in (*block.reads, *block.writes)] == ["B[0:8]", "A[0]"]


def test_pointers_hide_what_is_accessed() -> None:
    body = INNER + '        T.evaluate(T.call_extern("int32", "g", A.data))\n'
    with pytest.raises(tvm.error.DiagnosticError) as error:
        read(body)
    assert "Can not auto detect buffer access region" in str(error.value)
    assert "A.data in block 'b'" in str(error.value)
    with pytest.raises(tvm.error.DiagnosticError, match="Can not auto detect"):
        read('    with T.block("root"):\n        T.call_extern("int32", "g", A.data)\n')
    given = body.replace("T.evaluate", "T.reads()\n        T.writes(A[0:8])\n        T.evaluate")
    assert [str(r) for r in read(given).body.block.body.block.writes] == ["A[0:8]"]


def test_outer_blocks_see_what_inner_ones_say() -> None:
    func = read(
        '    with T.block("root"), T.block("outer"):\n'
        "        for i in range(4):\n"
        '            with T.block("inner"):\n'
        "                vi = T.axis.spatial(4, i)\n"
        "                T.reads(B[vi])\n"
        "                T.writes(A[vi + 2])\n"
        "                A[vi + 2] = B[vi]\n"
    )
    block = func.body.block.body.block
    assert [str(r) for r in (*block.reads, *block.writes)] == ["B[0:4]", "A[2:6]"]
