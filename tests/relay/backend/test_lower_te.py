"""Primitive functions as kernels that are called by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tvm
from tvm import relay
from tvm.relay.op.lowered import call_lowered

NAME = "relay.ext.lower_te_partner"


def lowered(text: str) -> tvm.IRModule:
    target = tvm.target.Target("llvm", host="llvm")
    config = tvm.target.make_compilation_config(tvm.transform.PassContext(), target)
    mod = relay.transform.InferType()(relay.parse('#[version = "0.0.5"]\n' + text))
    mod = relay.transform.PlanDevices(config)(mod)
    lower = tvm.get_global_func("relay.tec.LowerTE")("net", config)
    return relay.transform.InferType()(lower(relay.transform.InferType()(mod)))


@pytest.fixture
def partner() -> Iterator[list[str]]:
    seen: list[str] = []

    def codegen(func: Any) -> None:
        seen.append(str(func.attrs["global_symbol"]))

    tvm.register_global_func(NAME, codegen)
    yield seen
    tvm.ffi.remove_global_func(NAME)


def test_kernels() -> None:
    mod = lowered("""def @main(%a: Tensor[(5, 7), float32]) -> Tensor[(5, 7), float32] {
      %0 = fn(%x: Tensor[(5, 7), float32], Primitive=1) { exp(add(%x, %x)) };
      let %twice = fn(%y: Tensor[(5, 7), float32], Primitive=1) { exp(add(%y, %y)) };
      let %b = %twice(%0(%a));
      add(%b, %a)
    }""")
    names = {v.name_hint: type(f).__name__ for v, f in mod.functions.items()}
    assert names == {"main": "Function", "net_fused_add_exp": "PrimFunc"}
    call = mod["main"].body.value
    call = call.args[0] if call.op.name == "on_device" else call
    assert call.op.name == "call_lowered"
    assert call.args[0].name_hint == "net_fused_add_exp"
    assert call.attrs.metadata["relay_attrs"].Primitive == 1
    assert call.attrs.metadata["all_prim_fn_vars"] == [call.args[0]]
    assert call.args[1].fields[0].args[0].same_as(call.args[0]), "equal functions share a kernel"
    assert mod["net_fused_add_exp"].attrs["target"].kind.name == "llvm"


def test_outside_compilers(partner: list[str]) -> None:
    mod = lowered("""def @main(%a: Tensor[(5, 7), float32]) -> Tensor[(5, 7), float32] {
      %0 = fn(%x: Tensor[(5, 7), float32], Primitive=1, Compiler="lower_te_partner",
              global_symbol="theirs") { add(%x, %x) };
      @mine(%0(%a))
    }
    def @mine(%x: Tensor[(5, 7), float32], Extern=1) -> Tensor[(5, 7), float32] { %x }""")
    call = mod["main"].body
    assert (call.op.name, call.args[0].name_hint) == ("call_lowered", "mine")
    assert "all_prim_fn_vars" not in call.attrs.metadata
    inner = call.args[1].fields[0]
    assert inner.args[0].name_hint == "theirs"
    assert inner.attrs.metadata["relay_attrs"].Compiler == "lower_te_partner"
    assert (mod["theirs"].attrs["Extern"], partner) == (1, ["theirs"])


def test_the_type_of_a_lowered_call() -> None:
    f = relay.GlobalVar("f")
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    mod = tvm.IRModule({"f": relay.Function([x], relay.exp(x))})
    mod["main"] = relay.Function([y], call_lowered(f, [y]))
    assert relay.transform.InferType()(mod)["main"].ret_type == relay.TensorType((2,))
    z = relay.var("z", shape=(3,))
    mod["main"] = relay.Function([z], call_lowered(f, [z]))
    with pytest.raises(tvm.TVMError, match="two types that should be one differ"):
        relay.transform.InferType()(mod)
