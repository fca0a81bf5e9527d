"""Sequences of nodes: tuples that lists can be added to."""

# ruff: noqa: RUF005  # concatenation is what is tested

from __future__ import annotations

import copy
import pickle

import pytest

from tvm import relax, te, tir
from tvm.support.frozen import FrozenArray

pytestmark = pytest.mark.pure


def test_lists_and_tuples_on_either_side() -> None:
    held = FrozenArray([1, 2, 3])
    assert held[:-1] + [9] == (1, 2, 9)
    assert held[1:] + (9,) == (2, 3, 9)
    assert [0] + held == [0, 1, 2, 3]
    assert (0,) + held[:] == (0, 1, 2, 3)
    grown = [0]
    grown += held
    grown.append(4)
    assert grown == [0, 1, 2, 3, 4]
    assert held == (1, 2, 3)
    assert hash(held) == hash((1, 2, 3))
    assert (held[0], held[-1]) == (1, 3)


@pytest.mark.parametrize("other", ["ab", 1, None, {1: 2}])
def test_nothing_else_is_added(other: object) -> None:
    with pytest.raises(TypeError):
        FrozenArray([1]) + other
    with pytest.raises(TypeError):
        other + FrozenArray([1])


def test_it_stays_one_when_copied() -> None:
    held = FrozenArray([1, 2])
    for same in (pickle.loads(pickle.dumps(held)), copy.copy(held), copy.deepcopy(held)):
        assert same == held
        assert type(same) is FrozenArray


def test_fields_that_scripts_build_on() -> None:
    data = te.placeholder((4, 8), name="data")
    rows = te.compute(data.shape[:-1] + [2], lambda i, j: data[i, j], name="rows")
    assert rows.shape == (4, 2)
    assert len([*rows.op.axis] + rows.op.reduce_axis) == 2
    func = te.create_prim_func([data, rows])
    longer = tir.PrimFunc(func.params + [tir.Var("n", "int32")], func.body, None, func.buffer_map)
    assert [p.name for p in longer.params][-1] == "n"
    assert func.buffer_map[func.params[0]].shape + [1] == (4, 8, 1)
    x = relax.Var("x", relax.TensorStructInfo([4, 8], "float32"))
    assert relax.Tuple(relax.Tuple([x]).fields + [x]).fields == (x, x)
    assert relax.Function(relax.Function([x], x).params[:1] + [], x).params == (x,)
    assert x.struct_info.shape.values[:1] + [1] == (4, 1)
    assert relax.op.add(x, x).args[1:] + [x] == (x, x)
    block = func.body.block.body.body.body.block
    assert block.iter_vars + [1] == (*block.iter_vars, 1)
    assert block.reads[:1] + block.writes == (*block.reads, *block.writes)
    call = tir.call_extern("int32", "f", 1, 2)
    assert tir.Call(call.dtype, call.op, call.args[:2] + [7]).args[2].value == 7
