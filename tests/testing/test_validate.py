"""The instrument that names a pass which changes results."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.tir.transform import programs
from tvm import relax
from tvm.ir import IRModule
from tvm.ir.transform import PassContext, Sequential, module_pass
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.testing.validate import ValidationError, shrink
from tvm.tir import BufferLoad, BufferStore, FloatImm, PrimFunc, transform
from tvm.tir.functor import StmtExprMutator
from tvm.tir.pipeline import default_tir_pipeline
from tvm.tir.transform import prim_func_pass

pytestmark = pytest.mark.pure


class _Forgetful(StmtExprMutator):
    """Stores 7 where a value is stored."""

    def visit_buffer_store_(self, op: BufferStore) -> BufferStore:
        return BufferStore(op.buffer, FloatImm("float32", 7.0), op.indices)


@prim_func_pass(opt_level=0, name="tir.Forgetful")
def forget(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    return func.with_body(_Forgetful().visit_stmt(func.body))


class _Further(StmtExprMutator):
    """Loads from the place after."""

    def visit_buffer_load_(self, op: BufferLoad) -> BufferLoad:
        return BufferLoad(op.buffer, [op.indices[0] + 1, *op.indices[1:]])


@prim_func_pass(opt_level=0, name="tir.Further")
def read_further(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    return func.with_body(_Further().visit_stmt(func.body))


@I.ir_module
class Small:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 3), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            gv = R.nn.relu(a)
            R.output(gv)
        return gv


@module_pass(opt_level=0, name="relax.DropRelu")
def drop_relu(mod: IRModule, ctx: PassContext) -> IRModule:
    x, w = mod["main"].params
    bb = relax.BlockBuilder()
    with bb.function("main", [x, w]):
        with bb.dataflow():
            out = bb.emit_output(relax.op.matmul(x, w))
        bb.emit_func_output(out)
    return bb.get()


def test_name_in_tvm_instrument() -> None:
    from tvm.testing.validate import Validate

    assert tvm.instrument.Validate is Validate


def test_wrong_tir_pass_is_named_inside_a_sequence() -> None:
    mod = IRModule.from_expr(programs.matmul(2, 2, 2))
    passes = Sequential([transform.Simplify(), forget, transform.RemoveNoOp()])
    with PassContext(instruments=[tvm.instrument.Validate()]):
        with pytest.raises(ValidationError) as error:
            passes(mod)
    text = str(error.value)
    assert text.startswith("pass tir.Forgetful must keep what function 'main' computes")
    assert "found: C = float32[2, 2] [[7., 7.]," in text
    assert "A = float32[2, 2] [[0., 0.]," in text, "the smallest inputs"
    assert "legal: as before the pass: C = float32[2, 2] [[0., 0.]," in text


def test_access_beyond_a_buffer_is_a_difference() -> None:
    with PassContext(instruments=[tvm.instrument.Validate()]):
        with pytest.raises(ValidationError, match=r"tir\.Further") as error:
            read_further(IRModule.from_expr(programs.tail()))
    assert "OutOfBoundsError: load from buffer A" in str(error.value)
    assert "index 37, the extent is 37" in str(error.value)


def test_wrong_relax_pass_is_named() -> None:
    with PassContext(instruments=[tvm.instrument.Validate()]):
        with pytest.raises(ValidationError, match=r"relax\.DropRelu") as error:
            drop_relu(Small)
    assert "float32[1, 4]" in str(error.value), "the smallest n is 1"


@pytest.mark.parametrize(
    "make",
    [programs.tiled_matmul, programs.blur, programs.padded, programs.argmax, programs.symbolic],
)
def test_lowering_passes(make) -> None:
    validate = tvm.instrument.Validate()
    with PassContext(instruments=[validate]):
        default_tir_pipeline()(IRModule.from_expr(make()))
    assert validate.records == []
    assert ("tir.MakePackedAPI", "main") in validate.compared
    assert len(validate.compared) >= 4


@pytest.mark.parametrize("name", ["zero", "default_build"])
def test_relax_pipelines_pass(name: str) -> None:
    validate = tvm.instrument.Validate()
    with PassContext(instruments=[validate]), tvm.target.Target("llvm"):
        relax.get_pipeline(name)(Small)
    assert {("LegalizeOps", "main"), ("FuseTIR", "main")} <= set(validate.compared)
    assert validate.records == []


def test_what_cannot_be_run_is_recorded() -> None:
    validate = tvm.instrument.Validate()
    lowered = default_tir_pipeline()(IRModule.from_expr(programs.tail()))
    with PassContext(instruments=[validate]):
        forget(lowered)
    (record,) = validate.records
    assert record.pass_name == "tir.Forgetful"
    assert record.reason.startswith("cannot be run before the pass: ")


def test_what_is_not_compared_is_recorded() -> None:
    validate = tvm.instrument.Validate(max_elements=10)
    with PassContext(instruments=[validate]):
        forget(IRModule.from_expr(programs.matmul()))
    (record,) = validate.records
    assert record.pass_name == "tir.Forgetful"
    assert record.reason == "107 numbers as arguments, more than 10"
    assert validate.compared == []


def test_shrink_keeps_what_fails() -> None:
    start = [np.arange(1, 9).reshape(2, 4)]
    (small,) = shrink(start, lambda args: args[0][1, 2] != 0, 100)
    np.testing.assert_array_equal(small, [[0, 0, 0, 0], [0, 0, 1, 0]])
    np.testing.assert_array_equal(start[0], np.arange(1, 9).reshape(2, 4))


@I.ir_module
class Network:
    @R.function
    def main(x: R.Tensor((3, 4), "float32"), w: R.Tensor((4, 5), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.nn.relu(y)
            u = R.add(z, z)
            R.output(z, u)
        return (z, u)


@pytest.mark.cpu
def test_a_whole_compilation_is_compared() -> None:
    validate = tvm.instrument.Validate()
    with PassContext(instruments=[validate]):
        tvm.compile(Network, target="llvm")
    assert validate.records == []
    passes = {name for name, _ in validate.compared}
    assert {"LegalizeOps", "FuseTIR", "tir.FlattenBuffer", "tir.MakePackedAPI"} <= passes


class _Doubling(StmtExprMutator):
    """Stores twice the value."""

    def visit_buffer_store_(self, op: BufferStore) -> BufferStore:
        return BufferStore(op.buffer, op.value + op.value, op.indices)


@prim_func_pass(opt_level=0, name="tir.Doubling")
def double(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    return func.with_body(_Doubling().visit_stmt(func.body))


def test_a_wrong_pass_after_the_packed_convention() -> None:
    passes = Sequential([default_tir_pipeline(), transform.LowerIntrin(), double])
    mod = transform.BindTarget(tvm.target.Target("llvm"))(IRModule.from_expr(programs.tail()))
    with PassContext(instruments=[tvm.instrument.Validate()]):
        with pytest.raises(ValidationError, match=r"pass tir\.Doubling must keep"):
            passes(mod)
