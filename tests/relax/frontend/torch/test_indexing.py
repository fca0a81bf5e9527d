"""Gathers and scatters: imported, against torch's numbers."""

from __future__ import annotations

from typing import Any

import pytest

import tvm
from tvm import relax
from tvm.error import OpAttributeUnImplemented
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend.torch import from_exported_program
from tvm.relax.frontend.torch.indexing import counted_from_front, embedding_bag

from .cases import FAMILIES, Case, case
from .running import assert_same, check, exported, interpreted

torch = pytest.importorskip("torch")

x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))


@pytest.mark.parametrize("case", FAMILIES["indexing"], ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("how", ["mean", "amax", "amin"])
def test_integers_that_are_scattered_together(how: str, alone: bool) -> None:
    """Means are rounded down, as torch's are."""
    check(case(
        f"scatter_reduce {how}",
        lambda x, i, s: torch.scatter_reduce(x, 1, i, s, how, include_self=not alone),
        ((2, 4), "int64"), ((2, 6), "index:4"), ((2, 6), "int64"),
    ))  # fmt: skip


def test_known_indices_are_counted_while_importing() -> None:
    index = relax.const([[-1, 0], [1, -3]], "int64")
    found = counted_from_front(BlockBuilder(), index, 3)
    tvm.ir.assert_structural_equal(found, relax.const([[2, 0], [1, 0]], "int64"))


def test_bags_of_largest_rows_are_refused() -> None:
    with pytest.raises(OpAttributeUnImplemented, match="'sum' or 'mean'"):
        embedding_bag(BlockBuilder(), x, x, x, mode=2)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_the_last_of_open_offsets_ends_the_last_bag(mode: str) -> None:
    def bags(i: Any, w: Any, o: Any) -> Any:
        return torch.nn.functional.embedding_bag(i, w, o, mode=mode, include_last_offset=True)

    indices, weight = torch.tensor([0, 2, 4, 2, 3, 1]), torch.arange(15.0).reshape(5, 3)
    args = indices, weight, torch.tensor([0, 3, 6])
    open_sizes = ({0: torch.export.Dim.AUTO},) * 3
    mod = from_exported_program(exported(bags, *args, dynamic_shapes=open_sizes))
    assert_same(interpreted(mod, list(args)), bags(*args))


def test_a_mask_of_open_extents_may_begin_with_what_it_does_not_hold() -> None:
    """The number of the next element is -1 there, and a kernel of its own takes it."""
    x, source = torch.zeros(3, 4), torch.arange(12.0).reshape(3, 4)
    mask = torch.tensor([0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1]).bool().reshape(3, 4)
    open_sizes = (dict.fromkeys((0, 1), torch.export.Dim.AUTO),) * 3
    program = exported(torch.masked_scatter, x, mask, source, dynamic_shapes=open_sizes)
    mod = from_exported_program(program)
    vm = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    (found,) = vm["main"](*(tvm.runtime.tensor(value.numpy()) for value in (x, mask, source)))
    assert_same(found, torch.masked_scatter(x, mask, source))
