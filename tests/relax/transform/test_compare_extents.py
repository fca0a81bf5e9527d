"""Extents that operators take for equal are compared when the program runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.error import ShapeError
from tvm.ir.module import IRModule
from tvm.ir.structural import assert_structural_equal
from tvm.relax.expr import Call, MatchCast
from tvm.relax.transform.compare_extents import CompareExtents
from tvm.script import relax as R
from tvm.tir import SizeVar

A, B, N = "a", "b", 3


def _module(shapes: list[tuple[Any, ...]], make: Any, dtypes: dict[int, str]) -> IRModule:
    """One call of an operator; extents that are strings are symbols."""
    symbols: dict[str, SizeVar] = {}
    bb = relax.BlockBuilder()
    params = []
    for i, shape in enumerate(shapes):
        extents = [
            symbols.setdefault(one, SizeVar(one, "int64")) if isinstance(one, str) else one
            for one in shape
        ]
        params.append(relax.Var(f"x{i}", R.Tensor(extents, dtypes.get(i, "float32"))))
    with bb.function("main", params):
        with bb.dataflow():
            result = bb.emit_output(bb.normalize(make(*params)))
        bb.emit_func_output(result)
    return bb.get()


# operator, shapes, sizes that fit, sizes that do not
CASES: dict[str, tuple[Any, list[tuple[Any, ...]], dict[str, int], dict[str, int]]] = {
    "matmul": (R.matmul, [(N, A), (B, 4)], {A: 5, B: 5}, {A: 5, B: 2}),
    "matmul_known": (R.matmul, [(N, A), (5, 4)], {A: 5}, {A: 6}),
    "einsum": (
        lambda x, y: R.einsum([x, y], "ij,jk->ik"), [(N, A), (B, 4)], {A: 5, B: 5}, {A: 5, B: 2}
    ),
    "prelu": (lambda x, y: R.nn.prelu(x, y, 1), [(2, A), (B,)], {A: 5, B: 5}, {A: 5, B: 4}),
    "conv2d": (R.nn.conv2d, [(1, A, 6, 6), (4, 5, 3, 3)], {A: 5}, {A: 4}),
    "attention": (
        R.nn.attention,
        [(A, 4, 2, 8), (B, 6, 2, 8), (B, 6, 2, 8)], {A: 2, B: 2}, {A: 3, B: 2},
    ),
    "gather_elements": (
        lambda x, i: R.gather_elements(x, R.astype(i, "int64"), 1), [(A, 3), (B, 3)],
        {A: 5, B: 4}, {A: 4, B: 5},
    ),
    "scatter_elements": (
        lambda x, i: R.scatter_elements(x, R.astype(i, "int64"), i, 1), [(A, 3), (B, 3)],
        {A: 5, B: 4}, {A: 4, B: 5},
    ),
    "gather_nd": (
        lambda x, i: R.gather_nd(x, R.astype(i, "int64"), 1), [(A, 3), (B, 4, 1)],
        {A: 5, B: 5}, {A: 4, B: 5},
    ),
    "index_put": (
        lambda x, i, v: R.index_put(x, [R.astype(i, "int64")], v), [(5, 3), (A,), (B, 3)],
        {A: 4, B: 4}, {A: 4, B: 3},
    ),
    "cross_entropy": (
        R.nn.cross_entropy_with_logits, [(A, 4), (B, 4)], {A: 2, B: 2}, {A: 3, B: 2}
    ),
}  # fmt: skip


def _arguments(shapes: list[tuple[Any, ...]], sizes: dict[str, int]) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(3)
    known = [tuple(sizes.get(one, one) for one in shape) for shape in shapes]
    return [rng.random(shape).astype("float32") for shape in known]


@pytest.mark.parametrize("case", list(CASES))
def test_sizes_that_differ_are_refused(case: str) -> None:
    make, shapes, fits, differs = CASES[case]
    vm = relax.VirtualMachine(tvm.compile(_module(shapes, make, {}), "llvm"), tvm.cpu())
    right = _arguments(shapes, fits)
    found = vm["main"](*map(tvm.runtime.tensor, right)).numpy()
    # the same operator with its sizes known, which needs no comparison
    fixed = _module([x.shape for x in right], make, {})
    wanted = relax.VirtualMachine(tvm.compile(fixed, "llvm"), tvm.cpu())["main"](
        *map(tvm.runtime.tensor, right)
    )
    np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-5)
    with pytest.raises(ShapeError, match=f"{case.removesuffix('_known')}.*_extent.*expects extent"):
        vm["main"](*map(tvm.runtime.tensor, _arguments(shapes, differs)))


@pytest.mark.parametrize("target", ["n", 7])
def test_one_row_is_repeated_where_its_number_is_known_when_run(target: Any) -> None:
    def make(x: Any, y: Any) -> Call:
        return R.broadcast_to(x, R.shape([y.struct_info.shape[0], 3]))

    vm = relax.VirtualMachine(
        tvm.compile(_module([("m", 3), (target,)], make, {}), "llvm"), tvm.cpu()
    )
    for rows in (1, 7):
        x = np.arange(rows * 3, dtype="float32").reshape(rows, 3)
        found = vm["main"](tvm.runtime.tensor(x), tvm.runtime.tensor(np.zeros(7, "float32")))
        np.testing.assert_array_equal(found.numpy(), np.broadcast_to(x, (7, 3)))
    with pytest.raises(ShapeError, match="broadcast_to_extent"):
        vm["main"](*map(tvm.runtime.tensor, [np.zeros((5, 3), "float32"), np.zeros(7, "float32")]))


@pytest.mark.parametrize("first", [relax.transform.LegalizeOps(), relax.get_pipeline("zero")])
def test_graphs_of_kernels_compare_as_well(first: Any) -> None:
    """Whoever legalizes before the pipeline does: it finds kernels, which have one extent."""
    module = first(_module([(N, A), (B, 4)], R.matmul, {}))
    vm = relax.VirtualMachine(tvm.compile(module, "llvm"), tvm.cpu())
    x, w = np.ones((N, 5), "float32"), np.ones((5, 4), "float32")
    np.testing.assert_array_equal(vm["main"](x, w).numpy(), x @ w)
    with pytest.raises(ShapeError, match="matmul_extent"):
        vm["main"](x, w[:2])


def test_legalizing_compares_nothing_again() -> None:
    compared = CompareExtents()(_module([(N, A), (B, 4)], R.matmul, {}))
    made = relax.transform.LegalizeOps()(compared)
    bindings = made["main"].body.blocks[0].bindings
    assert sum(isinstance(binding, MatchCast) for binding in bindings) == 1


def test_each_pair_is_compared_once() -> None:
    def make(x: Any, y: Any) -> Call:
        return R.add(R.matmul(x, y), R.matmul(x, y))

    mod = CompareExtents()(_module([(N, A), (B, 4)], make, {}))
    casts = [b for b in mod["main"].body.blocks[0].bindings if isinstance(b, MatchCast)]
    assert [str(cast.struct_info) for cast in casts] == ["R.Shape([b])"]


def test_what_is_proved_stays() -> None:
    before = _module([(N, A), (A, 4)], R.matmul, {})
    assert_structural_equal(CompareExtents()(before), before)
