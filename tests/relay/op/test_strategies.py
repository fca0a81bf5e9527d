"""Operators of users, computed as their strategies say; names of generated code."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.run import value_of
from tvm import relay, te
from tvm.ir.op import OPS, Op
from tvm.relay.backend import name_transforms as names
from tvm.relay.backend import te_compiler
from tvm.relay.backend.utils import CallType, mangle_module_name
from tvm.relay.op.strategy import generic

pytestmark = pytest.mark.pure
TARGET = tvm.target.Target("llvm")


def scaled(factor: float) -> Any:
    def compute(attrs: Any, inputs: Any, out_type: Any) -> list[Any]:
        x = inputs[0]
        return [te.compute(x.shape, lambda *i: x(*i) * tvm.tir.const(factor, x.dtype))]

    return compute


@pytest.fixture
def user_op() -> Iterator[Callable[[str], Op]]:
    """Make operators that are gone after the test."""
    made: list[Op] = []

    def make(name: str) -> Op:
        made.append(op := relay.op.op.register(name))
        op.set_num_inputs(1)
        op.add_type_rel("Identity")
        return op

    yield make
    for op in made:
        OPS.remove(op.name)


def test_a_strategy_is_the_meaning_of_an_operator(user_op: Callable[[str], Op]) -> None:
    op = user_op("tests.strategy.scale")

    @relay.op.register_strategy(op.name)
    def strategy(attrs: Any, inputs: Any, out_type: Any, target: Any) -> Any:
        made = relay.op.OpStrategy()
        made.add_implementation(scaled(2.0), None, name="twice")
        made.add_implementation(scaled(3.0), lambda a, outs, t: outs, name="thrice", plevel=15)
        return made

    given = np.array([1, 2], "float32")
    found, _ = value_of(lambda x: relay.Call(op, [x]), [given])
    np.testing.assert_array_equal(found, 3 * given)
    x = te.placeholder((2,), name="x")
    kind = relay.TensorType((2,))
    ways = te_compiler.get_valid_implementations(op, None, [x], kind, TARGET)
    assert [way.name for way in ways] == ["twice", "thrice"]
    best, outs = te_compiler.select_implementation(op, None, [x], kind, TARGET)
    assert (best.name, best.plevel) == ("thrice", 15)
    assert best.schedule(None, outs, TARGET) == outs
    call = relay.Call(op, [relay.var("x", shape=(2,))])
    typed = relay.testing.run_infer_type(call)
    lowered = te_compiler.lower_call(typed, [x], TARGET)
    assert lowered.implementation.name == "thrice"
    assert te_compiler.get_shape(lowered.outputs[0].shape) == [2]


def test_a_compute_rule_is_enough(user_op: Callable[[str], Op]) -> None:
    op = user_op("tests.strategy.half")
    relay.op.op.register_injective_schedule(op.name)
    with pytest.raises(tvm.TVMError, match=r"FTVMCompute of tests\.strategy\.half is not set"):
        te_compiler.get_valid_implementations(op, None, [], None, TARGET)
    relay.op.op.register_compute(op.name, scaled(0.5))
    x = relay.var("x", shape=(2,))
    run = relay.create_executor("graph").evaluate(relay.Function([x], relay.Call(op, [x])))
    np.testing.assert_array_equal(run(np.ones(2, "float32")).numpy(), [0.5, 0.5])


def test_operators_without_a_strategy(user_op: Callable[[str], Op]) -> None:
    op = user_op("tests.strategy.none")
    with pytest.raises(tvm.TVMError, match="doesn't have an FTVMStrategy registered"):
        te_compiler.get_valid_implementations(op, None, [], None, TARGET)
    relay.op.op.register_strategy(op.name, lambda *args: relay.op.OpStrategy())
    with pytest.raises(tvm.TVMError, match="No valid implementation was found"):
        te_compiler.select_implementation(op, None, [], None, TARGET)


@pytest.mark.parametrize(
    ("function", "given", "wanted"),
    [
        (names.to_c_function_style, "TVM_Woof", "TVMWoof"),
        (names.to_c_function_style, "TVMGen_my_model", "TVMGenMyModel"),
        (names.to_c_variable_style, "TVM_WoOf", "tvm_woof"),
        (names.to_c_constant_style, "TVM_Woof", "TVM_WOOF"),
        (names.prefix_name, "Woof", "TVM_Woof"),
        (names.prefix_name, ["a", "b"], "TVM_a_b"),
        (names.prefix_generated_name, ["a", "b"], "TVMGen_a_b"),
        (names.sanitize_name, "in+put:0", "in_put_0"),
        (mangle_module_name, "m", "tvmgen_m"),
        (mangle_module_name, None, "tvmgen"),
    ],
)
def test_names_of_generated_code(function: Any, given: Any, wanted: str) -> None:
    assert function(given) == wanted


@pytest.mark.parametrize(
    ("function", "given", "text"),
    [
        (names.to_c_function_style, "Cake", "Function not TVM prefixed"),
        (names.to_c_function_style, "", "Function name is empty"),
        (names.to_c_variable_style, "Cake", "Variable not TVM prefixed"),
        (names.to_c_constant_style, "", "Constant name is empty"),
        (names.prefix_name, [], "Name segments empty"),
        (names.prefix_name, ["a", ""], "Name segment is empty"),
        (names.sanitize_name, "", "Name is empty"),
    ],
)
def test_names_that_cannot_be(function: Any, given: Any, text: str) -> None:
    with pytest.raises(tvm.TVMError, match=text):
        function(given)


def test_names_of_modules_are_of_ascii() -> None:
    with pytest.raises(ValueError, match="letters of ASCII"):
        mangle_module_name("modèle")


def test_kinds_of_calls() -> None:
    assert [kind.name for kind in sorted(CallType)] == ["Packed", "CPacked", "Unpacked"]


def test_where_values_are() -> None:
    x = relay.var("x", shape=(2,))
    copied = relay.device_copy(x, tvm.cpu(0), "cuda")
    assert copied.attrs.src_virtual_device == tvm.target.VirtualDevice(tvm.cpu(0))
    assert copied.attrs.dst_virtual_device.device_type_int == tvm.cuda(0).dlpack_device_type()
    marked = relay.annotation.on_device(copied, tvm.cpu(1), constrain_result=True)
    assert marked.attrs.virtual_device.virtual_device_id == 1
    free = relay.annotation.on_device(x, tvm.cpu(1), constrain_body=False)
    assert free.attrs.virtual_device == tvm.target.VirtualDevice()
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], marked)))
    again = relay.transform.InferType()(relay.parse(mod.astext()))
    tvm.ir.assert_structural_equal(again, mod)
    table = {"VirtualDevice": [tvm.target.VirtualDevice(tvm.cpu(1))]}
    text = (
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { on_device(%x, '
        "virtual_device=meta[VirtualDevice][0], constrain_result=True, constrain_body=True) }"
    )
    read = relay.parse(text, "text", None, table)["main"]
    assert read.body.attrs.virtual_device == table["VirtualDevice"][0]
    func = relay.Function([x], relay.exp(x))
    placed = relay.annotation.function_on_device(func, ["cpu"], tvm.cpu(2))
    assert placed.virtual_device_.virtual_device_id == 2
    assert placed.body.args[0] is placed.params[0]
    assert placed.params[0].virtual_device_.virtual_device_id == 0
    with pytest.raises(tvm.TVMError, match="0 devices for 1 parameters"):
        relay.annotation.function_on_device(func, [], "cpu")


@pytest.mark.parametrize(
    ("target", "suffix"),
    [("x86", "cpu"), ("arm_cpu", "arm_cpu"), ("cuda", "cuda"), ("rocm", "rocm"), ("mali", "mali"),
     ("bifrost", "bifrost"), ("adreno", "adreno"), ("hls", "hls"), ("hexagon", "hexagon"),
     ("intel_graphics", "intel_graphics")],
)  # fmt: skip
def test_strategies_by_target(target: str, suffix: str) -> None:
    module = importlib.import_module(f"tvm.relay.op.strategy.{target}")
    for name in module._NAMES:
        assert getattr(module, f"{name}_{suffix}") is getattr(generic, name)
    with pytest.raises(AttributeError, match=f"strategy.{target}' has no attribute 'other'"):
        module.other


def test_a_strategy_of_a_target_gives_its_way() -> None:
    from tvm.relay.op.strategy.x86 import conv2d_strategy_cpu

    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    call = relay.testing.run_infer_type(relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=4))
    inputs = [te.placeholder((1, 3, 8, 8)), te.placeholder((4, 3, 3, 3))]
    made = conv2d_strategy_cpu(call.attrs, inputs, call.checked_type, tvm.target.Target("llvm"))
    (way,) = made.specializations[0].implementations
    assert way.name == "conv2d_nchw.x86"
    (out,) = way.compute(call.attrs, inputs, call.checked_type)
    assert [int(e) for e in out.shape] == [1, 4, 6, 6]
