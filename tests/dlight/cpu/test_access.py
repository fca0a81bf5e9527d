from __future__ import annotations

from tests.dlight.programs import conv, matmul
from tvm import te
from tvm.dlight.cpu.access import access_strides, contiguous_run, is_vectorizable
from tvm.tir.schedule import Schedule


def test_strides() -> None:
    sch = Schedule(matmul(4, 5, 6))
    block = sch.get(sch.get_block("C"))
    i, j, k = (iv.var for iv in block.iter_vars)
    table = access_strides(block)
    assert {(m[i], m[j], m[k]) for m in table} == {(5, 1, 0), (6, 0, 1), (0, 1, 5)}
    assert is_vectorizable(table, j)
    assert not is_vectorizable(table, k)


def test_fused_variables_move_as_one() -> None:
    sch = Schedule(conv(1, 1, 2, 6, kernel=1, pad=0))
    sch.transform_block_layout("P", lambda n, c, y, x: [y * 6 + x])
    block = sch.get(sch.get_block("P"))
    assert all(moves[block.iter_vars[0].var] == 1 for moves in access_strides(block))


def test_runs() -> None:
    a = te.placeholder((10, 26), name="A")
    func = te.create_prim_func(
        [a, te.compute((8 * 24,), lambda i: a[i // 24 + 1, i % 24 + 2], name="B")]
    )
    sch = Schedule(func)
    block = sch.get(sch.get_block("B"))
    assert contiguous_run(block, block.iter_vars[0].var, 64) == 8
