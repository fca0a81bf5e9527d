"""Copies whose definitions are fresh: equal in structure, with nothing defined in common."""

from __future__ import annotations

import pytest

from tvm import te, topi
from tvm.ir import structural_equal
from tvm.tir import Block, For, IterVar, PrimFunc, Var
from tvm.tir.functor import walk
from tvm.tir.stmt_functor import renew_defs

pytestmark = pytest.mark.pure


def kernel() -> PrimFunc:
    n = te.var("n")
    a = te.placeholder((n, 4), name="A")
    b = te.compute((n, 4), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((n, 4), lambda i, j: b[i, j] * 2.0, name="C")
    return te.create_prim_func([a, c])


def definitions(func: PrimFunc) -> set[object]:
    """Parameters, loop and block variables, and the buffers that blocks allocate."""
    found: set[object] = {*func.params, *func.buffer_map.values()}
    for node in walk(func.body):
        if isinstance(node, For):
            found.add(node.loop_var)
        elif isinstance(node, Block):
            found.update(v.var for v in node.iter_vars)
            found.update(node.alloc_buffers)
            found.update(buffer.data for buffer in node.alloc_buffers)
    return found


def test_functions_share_no_definition() -> None:
    func = kernel()
    copy = renew_defs(func)
    assert structural_equal(func, copy)
    assert len(definitions(copy)) == len(definitions(func))
    assert not definitions(copy) & definitions(func)


def test_statements_keep_what_is_defined_outside() -> None:
    func = kernel()
    copy = renew_defs(func.body)
    assert copy is not func.body
    outside = set(func.buffer_map.values())
    used = {b.buffer for node in walk(copy) if isinstance(node, Block) for b in node.writes}
    assert used & outside == {func.buffer_map[func.params[1]]}
    loops = [node.loop_var for node in walk(func.body) if isinstance(node, For)]
    renewed = [node.loop_var for node in walk(copy) if isinstance(node, For)]
    assert [v.name for v in renewed] == [v.name for v in loops]
    assert not set(renewed) & set(loops)


def test_iteration_variables_keep_their_kind() -> None:
    def kinds(func: PrimFunc) -> list[int]:
        blocks = (node for node in walk(func.body) if isinstance(node, Block))
        return [v.iter_type for b in blocks for v in b.iter_vars if isinstance(v, IterVar)]

    func = kernel()
    assert kinds(renew_defs(func)) == kinds(func)


def test_the_rest_is_returned_as_it_is() -> None:
    x = Var("x", "int32")
    assert renew_defs(x + 1).a is x


def test_buffers_in_annotations_are_those_of_the_copy() -> None:
    a, b = te.placeholder((2, 4, 4), name="a"), te.placeholder((2, 4, 4), name="b")
    func = te.create_prim_func([a, b, topi.nn.batch_matmul(a, topi.nn.relu(b))])
    copy = renew_defs(func)
    (own,) = [buffer for node in walk(copy.body) if isinstance(node, Block)
              for buffer in node.alloc_buffers]  # fmt: skip
    (noted,) = [node.annotations["layout_free_placeholders"] for node in walk(copy.body)
                if isinstance(node, Block) and node.annotations]  # fmt: skip
    assert noted == (own,)
