"""Targets of values, and matches that leak."""

from __future__ import annotations

from typing import Any

import pytest

from tvm import relax
from tvm.error import TVMError
from tvm.ir import IRModule, VDevice
from tvm.relax.backend.utils import BackendDispatcher, has_leaking_intermediate_variables
from tvm.relax.dpl.pattern import is_op, wildcard
from tvm.relax.transform import FuseOpsByPattern
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.target import Target

pytestmark = pytest.mark.pure


def test_targets() -> None:
    dispatcher = BackendDispatcher(IRModule())
    here = relax.TensorStructInfo((2,), "float32", VDevice("llvm"))
    assert dispatcher._get_target(here).kind.name == "llvm"
    assert dispatcher._get_target(relax.TupleStructInfo([here])).kind.name == "llvm"
    anywhere = relax.TensorStructInfo((2,), "float32")
    with Target("cuda"):
        assert dispatcher._get_target(anywhere).kind.name == "cuda"
    with pytest.raises(TVMError, match="Target not found"):
        dispatcher._get_target(anywhere)
    assert BackendDispatcher.is_gpu_target(Target("cuda"))
    assert not BackendDispatcher.is_gpu_target(Target("llvm"))


def test_shape_and_dtype() -> None:
    x = relax.Var("x", relax.TensorStructInfo((2, 3), "float16"))
    shape, dtype = BackendDispatcher.get_shape_dtype(x)
    assert isinstance(shape, relax.ShapeExpr)
    assert dtype == "float16"
    with pytest.raises(TVMError, match="is no tensor"):
        BackendDispatcher.get_shape_dtype(relax.ShapeExpr([2]))


@pytest.mark.parametrize("leaks", [False, True])
def test_leaks(leaks: bool) -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.tanh(a)
                c = R.add(a, b) if leaks else R.add(b, b)
                R.output(c)
            return c

    found: list[bool] = []

    def check(context: Any) -> bool:
        found.append(has_leaking_intermediate_variables(context))
        return not found[-1]

    pattern = is_op("relax.tanh")(is_op("relax.exp")(wildcard()))
    after = FuseOpsByPattern([("x.f", pattern, {}, check)])(Mod)
    assert found == [leaks]
    assert ("fused" in str(after)) is not leaks
