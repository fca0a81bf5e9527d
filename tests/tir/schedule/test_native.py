"""Schedules whose forms need special lowering, compiled and run on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import tvm
from tests.tir.schedule import cases
from tests.tir.schedule.cases import check, check_native, open_schedule
from tests.tir.schedule.primitive.test_tensorize import desc, impl, tiled
from tvm import tir
from tvm.tir import TensorIntrin
from tvm.tir.intrin_registry import INTRINSICS
from tvm.tir.schedule import Schedule
from tvm.tir.transform import LowerAutoCopy

pytestmark = pytest.mark.cpu
Case = tuple[tir.PrimFunc, Schedule]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    TensorIntrin.register("test.native4", desc, impl)
    yield
    INTRINSICS.remove("test.native4")


def copies_at_a_loop() -> Case:
    func = cases.elementwise(16, 8)
    sch = open_schedule(func)
    outer, _ = sch.split(sch.get_loops("B")[0], factors=[None, 4])
    sch.read_at(outer, sch.get_block("B"), 0, "global")
    sch.write_at(outer, sch.get_block("B"), 0, "local")
    return func, sch


def partitioned() -> Case:
    func = cases.elementwise(19)
    sch = open_schedule(func)
    parts = sch.loop_partition(sch.get_loops("B")[0], [3, None, 8])
    sch.vectorize(parts[-1])
    return func, sch


def tensorized_loop() -> Case:
    func = cases.matmul()
    sch, outer, inner = tiled(func)
    sch.decompose_reduction("C", outer[2])
    sch.tensorize(inner[0], "test.native4")
    return func, sch


def tensorized_block() -> Case:
    func = cases.matmul()
    sch, outer, inner = tiled(func)
    block = sch.blockize(inner[0])
    sch.tensorize(block, "test.native4")
    sch.parallel(outer[0])
    return func, sch


def padded_layout() -> Case:
    func = cases.chain(14, 5)
    sch = open_schedule(func)
    sch.transform_layout("B", ("write", 0), lambda i, j: [i // 4, j, i % 4], pad_value=0.0)
    return func, sch


def padded_extents() -> Case:
    func = cases.matmul_relu(7, 9, 10)
    sch = open_schedule(func)
    sch.pad_einsum("C", [4, 4, 4])
    return func, sch


def factored_reduction() -> Case:
    func = cases.row_sum()
    sch = open_schedule(func)
    _, inner = sch.split(sch.get_loops("B")[1], factors=[None, 8])
    partial = sch.rfactor(inner, 1)
    sch.vectorize(sch.get_loops(partial)[-1])
    return func, sch


def merged_stages() -> Case:
    func = cases.chain(16, 8)
    sch = open_schedule(func)
    sch.merge(sch.get_loops("B")[1], sch.get_loops("C")[1])
    sch.parallel(sch.get_loops("B")[0])
    return func, sch


CASES: list[Callable[[], Case]] = [
    copies_at_a_loop, partitioned, tensorized_loop, tensorized_block, padded_layout,
    padded_extents, factored_reduction, merged_stages,
]  # fmt: skip


@pytest.mark.parametrize("made", CASES, ids=lambda made: made.__name__)
def test_runs(made: Callable[[], Case]) -> None:
    func, sch = made()
    check(sch, func)
    check_native(sch, func)


def test_copies_after_their_lowering() -> None:
    func, sch = copies_at_a_loop()
    mod = LowerAutoCopy()(sch.mod)
    arrays = cases.inputs(func)
    tensors = [tvm.runtime.tensor(array) for array in arrays]
    tvm.compile(mod, target="llvm")["main"](*tensors)
    np.testing.assert_allclose(tensors[-1].numpy(), arrays[0] + 1, rtol=1e-6)
