"""LowerRuntimeBuiltin: operators become functions of the machine."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.relax.programs import RelaxPassTest
from tvm import relax
from tvm.ir.structural import assert_structural_equal
from tvm.relax.transform import LowerRuntimeBuiltin, VMBuiltinLower
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def test_both_names_are_one_pass() -> None:
    assert VMBuiltinLower().info.name == LowerRuntimeBuiltin().info.name  # type: ignore[attr-defined]


class TestMemory(RelaxPassTest):
    run = LowerRuntimeBuiltin()
    sizes = {"m": 2, "n": 3}
    same_results = False

    @I.ir_module
    class Before:
        @R.function(pure=False)
        def main(x: R.Tensor(("m", "n"), "float32")) -> R.Tensor:
            m, n = T.int64(), T.int64()
            storage = R.memory.alloc_storage(
                R.shape([m * n * 4]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
            alloc = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([m, n]),
                                          R.dtype("float32"))
            _ = R.call_packed("test.op.identity", x, alloc, sinfo_args=(R.Tensor(ndim=2),))
            _1 = R.memory.kill_storage(storage)
            gv0 = R.reshape(alloc, R.shape([n, m]))
            _2 = R.memory.kill_tensor(alloc)
            return gv0

    @I.ir_module
    class Expected:
        @R.function(pure=False)
        def main(x: R.Tensor(("m", "n"), "float32")) -> R.Tensor:
            m, n = T.int64(), T.int64()
            storage = R.vm.alloc_storage(
                R.shape([m * n * 4]), R.prim_value(0), R.dtype("uint8"), R.str("global"))
            alloc = R.vm.alloc_tensor(storage, R.prim_value(0), R.shape([m, n]),
                                      R.dtype("float32"))
            _ = R.call_packed("test.op.identity", x, alloc, sinfo_args=(R.Tensor(ndim=2),))
            _1 = R.vm.kill_object(storage)
            gv0 = R.call_packed("vm.builtin.reshape", alloc, R.shape([n, m]),
                                sinfo_args=R.Tensor((n, m), "float32"))
            _2 = R.vm.kill_object(alloc)
            return gv0


class TestShapesViewsAndClosures(RelaxPassTest):
    run = LowerRuntimeBuiltin()
    same_results = False

    @I.ir_module
    class Before:
        @R.function
        def inner(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            return x

        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32"), t: R.Tensor((2,), "int64")):
            cls = Before
            s = R.shape_of(x)
            u = R.tensor_to_shape(t)
            v = R.memory.view(x, dtype="int32")
            w = R.memory.ensure_zero_offset(x)
            f = R.make_closure(cls.inner, (x,))
            r = R.invoke_closure(f, (x,), sinfo_args=R.Tensor((4,), "float32"))
            p = R.call_pure_packed("test.f", x, sinfo_args=R.Tensor((4,), "float32"))
            return r

    @I.ir_module
    class Expected:
        @R.function
        def inner(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            return x

        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32"), t: R.Tensor((2,), "int64")):
            cls = Expected
            s = R.call_packed("vm.builtin.shape_of", x, sinfo_args=R.Shape([4]))
            u = R.call_packed("vm.builtin.tensor_to_shape", t, sinfo_args=R.Shape(ndim=2))
            v = R.ExternFunc("runtime.TVMTensorCreateView", R.Callable(
                derive_func="tvm.relax.struct_info.infer_view_sinfo", purity=True
            ))(x, R.shape([4]), R.dtype("int32"), R.prim_value(0))
            w = R.call_packed("vm.builtin.ensure_zero_offset", x,
                              sinfo_args=R.Tensor((4,), "float32"))
            f = R.call_packed("vm.builtin.make_closure", cls.inner, x, sinfo_args=R.Object)
            r = R.call_builtin_with_ctx("vm.builtin.invoke_closure", (f, x),
                                        sinfo_args=R.Tensor((4,), "float32"))
            p = R.call_pure_packed("test.f", x, sinfo_args=R.Tensor((4,), "float32"))
            return r


@pytest.mark.cpu
def test_a_view_stays_pure_and_its_struct_info_is_inferred() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(A: R.Tensor([12], "float32")):
            B = R.memory.view(A, shape=R.shape([3, 4]))
            return B

    @I.ir_module
    class Expected:
        @R.function
        def main(A: R.Tensor([12], "float32")) -> R.Tensor([3, 4], "float32"):
            B: R.Tensor([3, 4], "float32") = R.ExternFunc(
                "runtime.TVMTensorCreateView",
                R.Callable(derive_func="tvm.relax.struct_info.infer_view_sinfo", purity=True),
            )(A, R.shape([3, 4]), R.dtype("float32"), R.prim_value(0))
            return B

    found = LowerRuntimeBuiltin()(Before)
    assert_structural_equal(found, Expected)
    assert relax.analysis.well_formed(found)
    made = relax.VirtualMachine(relax.build(Before, target="llvm"), tvm.cpu())["main"]
    x = np.arange(12, dtype="float32")
    np.testing.assert_array_equal(made(tvm.runtime.tensor(x)).numpy(), x.reshape(3, 4))


def test_memory_without_a_plan_is_refused() -> None:
    @R.function(private=True)
    def func():
        a = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0))
        return a

    with pytest.raises(tvm.error.TVMError, match=r"alloc_tensor has no function of the machine"):
        VMBuiltinLower()(tvm.IRModule({"func": func}))
