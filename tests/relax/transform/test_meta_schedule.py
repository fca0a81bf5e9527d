"""Tuning as passes, and what a database does to a module."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import tvm
from tvm import meta_schedule as ms
from tvm import relax
from tvm.relax.transform import (
    MetaScheduleApplyDatabase,
    MetaScheduleTuneIRMod,
    MetaScheduleTuneTIR,
)
from tvm.runtime import tensor
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir import Schedule

pytestmark = pytest.mark.cpu
TARGET = Target("llvm --num-cores=2")


@I.ir_module
class Module:
    @T.prim_func
    def tir_matmul(x: T.handle, y: T.handle, z: T.handle) -> None:
        T.func_attr({"global_symbol": "tir_matmul", "tir.noalias": True})
        A = T.match_buffer(x, (32, 32))
        B = T.match_buffer(y, (32, 32))
        C = T.match_buffer(z, (32, 32))
        for i, j, k in T.grid(32, 32, 32):
            with T.block("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @T.prim_func
    def tir_relu(x: T.handle, y: T.handle) -> None:
        T.func_attr({"global_symbol": "tir_relu", "tir.noalias": True})
        A = T.match_buffer(x, (32, 32))
        B = T.match_buffer(y, (32, 32))
        for i, j in T.grid(32, 32):
            with T.block("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.max(A[vi, vj], T.float32(0))

    @R.function
    def main(
        x: R.Tensor((32, 32), "float32"), w: R.Tensor((32, 32), "float32")
    ) -> R.Tensor((32, 32), "float32"):
        with R.dataflow():
            lv0 = R.call_tir(Module.tir_matmul, (x, w), R.Tensor((32, 32), dtype="float32"))
            lv1 = R.call_tir(Module.tir_relu, (lv0,), R.Tensor((32, 32), dtype="float32"))
            R.output(lv1)
        return lv1


def scheduled_names(mod: tvm.IRModule) -> set[str]:
    return {v.name_hint for v, f in mod.functions.items() if f.attrs.get("tir.is_scheduled")}


def check_results(mod: tvm.IRModule) -> None:
    x, w = np.random.default_rng(0).standard_normal((2, 32, 32)).astype("float32")
    vm = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    np.testing.assert_allclose(
        vm["main"](tensor(x), tensor(w)).numpy(), np.maximum(x @ w, 0), rtol=1e-4, atol=1e-5
    )


def split_relu(sch: Schedule) -> bool:
    if "relu" not in sch.mod.script():
        return False
    i, _ = sch.get_loops(sch.get_block("relu"))
    sch.split(i, [8, 4])
    return True


def test_entered_database() -> None:
    with TARGET, ms.Database.create(split_relu):
        out = MetaScheduleApplyDatabase()(Module)
        again = MetaScheduleApplyDatabase()(out)
    assert scheduled_names(out) == {"tir_relu"}
    assert "for i_0, i_1, j in T.grid(8, 4, 32)" in out["tir_relu"].script()
    tvm.ir.assert_structural_equal(again, out)
    check_results(out)


def test_what_was_scheduled_is_not_fused() -> None:
    with TARGET, ms.Database.create(split_relu):
        out = MetaScheduleApplyDatabase()(Module)
        built = relax.get_pipeline("zero")(out)
    tvm.ir.assert_structural_equal(built["tir_relu"].body, out["tir_relu"].body)
    assert "fused" not in built.script()


def test_warning(caplog: pytest.LogCaptureFixture) -> None:
    with TARGET, ms.Database.create(split_relu), caplog.at_level(logging.WARNING):
        MetaScheduleApplyDatabase(enable_warning=True)(Module)
    assert "Tuning record is not found for primfunc: tir_matmul" in caplog.text
    assert "tir_relu" not in caplog.text


def test_info_of_the_passes() -> None:
    for made, name in (
        (MetaScheduleTuneIRMod({}, "", 1), "MetaScheduleTuneIRModule"),
        (MetaScheduleTuneTIR("", 1), "MetaScheduleTuneTIR"),
        (MetaScheduleApplyDatabase(""), "MetaScheduleApplyDatabase"),
    ):
        assert (made.info.name, made.info.opt_level) == (name, 0)


def test_target_and_database_are_needed() -> None:
    with pytest.raises(ValueError, match=r"found: no target\n  legal: `with target:`"):
        MetaScheduleApplyDatabase()(Module)
    with TARGET, pytest.raises(ValueError, match=r"found: no work_dir, and no database is entered"):
        MetaScheduleApplyDatabase()(Module)
