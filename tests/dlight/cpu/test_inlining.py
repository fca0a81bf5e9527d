"""How much of a producer goes into its readers."""

import pytest

from tvm import te
from tvm.dlight.cpu.general import inline_epilogues
from tvm.tir import PrimFunc, Schedule
from tvm.tir.functor import walk


def level(x: te.Tensor, node: te.Tensor, feature: te.Tensor, border: te.Tensor) -> te.Tensor:
    """The nodes below: to the right where the feature is not above the border."""
    index = te.compute((60,), lambda i: feature[node[i]], name="index")
    value = te.compute((60,), lambda i: x[i, index[i]], name="value")
    right = te.compute((60,), lambda i: value[i] <= border[node[i]], name="right")
    return te.compute((60,), lambda i: node[i] * 2 + right[i].astype("int64"), name="next")


def decisions(depth: int) -> PrimFunc:
    """Trees of decisions as one kernel: each level reads the node of the last three times."""
    x = te.placeholder((60, 12), "float32", name="x")
    node = start = te.placeholder((60,), "int64", name="node")
    features = [te.placeholder((3 * 2**d,), "int64", name=f"f{d}") for d in range(depth)]
    borders = [te.placeholder((3 * 2**d,), "float32", name=f"b{d}") for d in range(depth)]
    for feature, border in zip(features, borders):
        node = level(x, node, feature, border)
    return te.create_prim_func([x, start, *features, *borders, node])


def size_of(func: PrimFunc) -> int:
    return sum(1 for _ in walk(func.body))


@pytest.mark.parametrize("depth", [2, 4, 7])
def test_what_is_read_again_at_each_level_does_not_multiply(depth: int) -> None:
    func = decisions(depth)
    sch = Schedule(func)
    inline_epilogues(sch)
    stages = [sch.get(block).name_hint for block in sch.get_child_blocks(sch.get_block("root"))]
    assert not {*stages} & {"index", "value", "right"}
    assert size_of(sch.mod["main"]) < 2 * size_of(func)
