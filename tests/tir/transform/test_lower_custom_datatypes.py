"""Users' data types, from script to machine code."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.script import tir as T
from tvm.support import dtype
from tvm.target import datatype

BITS = "uint32"


def _float(x):
    return tir.reinterpret("float32", x)


@pytest.fixture(scope="module", autouse=True)
def bits_of_float():
    """A type `bitsfloat`: a float32 kept in an integer."""
    patch = pytest.MonkeyPatch()
    patch.setattr(dtype, "_custom_codes", {})
    patch.setattr(datatype, "_LOWER", {})
    datatype.register("bitsfloat", 160)
    back = lambda value: tir.reinterpret(BITS, value)
    rules = {
        "Add": lambda op: back(_float(op.a) + _float(op.b)),
        "Mul": lambda op: back(_float(op.a) * _float(op.b)),
        "Max": lambda op: back(tir.max(_float(op.a), _float(op.b))),
        "LT": lambda op: _float(op.a) < _float(op.b),
        "FloatImm": lambda op: back(tir.FloatImm("float32", op.value)),
    }
    for name, rule in rules.items():
        datatype.register_op(rule, name, "llvm", "bitsfloat")
    for name, rule in {
        "tir.sqrt": lambda op: back(tir.sqrt(_float(op.args[0]))),
        "tir.if_then_else": datatype.lower_ite,
    }.items():
        datatype.register_op(rule, "Call", "llvm", "bitsfloat", intrinsic_name=name)
    datatype.register_op(lambda op: back(op.value), "Cast", "llvm", "float", "bitsfloat")
    datatype.register_op(lambda op: _float(op.value), "Cast", "llvm", "bitsfloat", "float")
    datatype.register_min_func(lambda bits: back(tir.FloatImm("float32", -1e30)), "bitsfloat")
    yield
    patch.undo()


def test_a_program_over_a_custom_type_runs() -> None:
    @T.prim_func
    def main(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
        held = T.alloc_buffer((8,), "custom[bitsfloat]32")
        for i in range(8):
            held[i] = T.Cast("custom[bitsfloat]32", a[i])
        for i in range(8):
            held[i] = T.sqrt(held[i] * held[i] + held[i] * held[i])
        for i in range(8):
            b[i] = T.Cast("float32", T.max(held[i], T.Cast("custom[bitsfloat]32", T.float32(2))))

    x = np.linspace(0, 5, 8).astype("float32")
    out = tvm.runtime.tensor(np.zeros(8, "float32"))
    tvm.compile(main, target="llvm")(tvm.runtime.tensor(x), out)
    np.testing.assert_allclose(out.numpy(), np.maximum(np.sqrt(2 * x * x), 2), rtol=1e-6)


def test_buffers_literals_and_choices() -> None:
    kind = "custom[bitsfloat]32"
    buffer = tir.decl_buffer((4,), kind, "A")
    load = tir.BufferLoad(buffer, [0])
    literal = tir.FloatImm(kind, 1.5)
    value = tir.if_then_else(load < literal, load, literal)
    func = tir.PrimFunc([buffer], tir.BufferStore(buffer, value, [1]))
    func = func.with_attr("target", tvm.target.Target("llvm"))
    lowered = tir.transform.LowerCustomDatatypes()(tvm.IRModule({"main": func}))["main"]
    assert {str(b.dtype) for b in lowered.buffer_map.values()} == {BITS}
    assert str(lowered.body.value.dtype) == BITS
    assert "custom" not in lowered.script()


def test_what_has_no_rule_is_named() -> None:
    kind = "custom[bitsfloat]32"
    buffer = tir.decl_buffer((4,), kind, "A")
    load = tir.BufferLoad(buffer, [0])
    func = tir.PrimFunc([buffer], tir.BufferStore(buffer, load - load, [1]))
    mod = tvm.IRModule({"main": func.with_attr("target", tvm.target.Target("llvm"))})
    with pytest.raises(tvm.TVMError, match="lower Sub of data type bitsfloat"):
        tir.transform.LowerCustomDatatypes()(mod)
    with pytest.raises(tvm.TVMError, match="a function without a target"):
        tir.transform.LowerCustomDatatypes()(tvm.IRModule({"main": func}))


def test_the_smallest_value() -> None:
    assert str(tir.min_value("custom[bitsfloat]32").dtype) == BITS


def test_deep_functions_without_such_values_stay() -> None:
    body: tir.Stmt = tir.Evaluate(0)
    for i in range(20_000):
        body = tir.LetStmt(tir.Var(f"v{i}", "int32"), i, body)
    func = tir.PrimFunc([], body).with_attr("target", tvm.target.Target("llvm"))
    mod = tvm.IRModule({"main": func})
    assert tir.transform.LowerCustomDatatypes()(mod)["main"].body is body
