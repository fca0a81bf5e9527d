"""Functions that call themselves."""

from __future__ import annotations

import pytest

from tvm import ir, relax
from tvm.relax.analysis import detect_recursion

pytestmark = pytest.mark.pure

X = relax.Var("x", relax.TensorStructInfo((2,), "float32"))


def module(calls: dict[str, str]) -> ir.IRModule:
    """Functions by name, each calling those whose names are the letters of its text."""
    info = relax.FuncStructInfo([X.struct_info], X.struct_info)
    variables = {name: relax.GlobalVar(name, info) for name in calls}
    functions = {}
    for name, callees in calls.items():
        x = relax.Var("x", X.struct_info)
        bb = relax.BlockBuilder()
        bb.begin_binding_block()
        value = x
        for callee in callees:
            value = bb.emit(relax.Call(variables[callee], [value]))
        seq = relax.SeqExpr([bb.end_block()], value)
        functions[variables[name]] = relax.Function([x], seq, X.struct_info)
    return ir.IRModule(functions)


@pytest.mark.parametrize(
    ("calls", "groups"),
    [
        ({"a": "b", "b": ""}, []),
        ({"a": "a"}, ["a"]),
        ({"a": "b", "b": "a", "c": "a"}, ["ab"]),
        ({"a": "b", "b": "c", "c": "a", "d": "ee", "e": "d"}, ["abc", "de"]),
    ],
)
def test_groups(calls: dict[str, str], groups: list[str]) -> None:
    found = detect_recursion(module(calls))
    assert ["".join(v.name_hint for v in group) for group in found] == groups


def test_a_long_chain_of_calls() -> None:
    names = [f"f{i}" for i in range(1500)]
    info = relax.FuncStructInfo([X.struct_info], X.struct_info)
    variables = [relax.GlobalVar(name, info) for name in names]
    functions = {}
    for i, var in enumerate(variables):
        target = variables[(i + 1) % len(variables)]
        functions[var] = relax.Function([X], relax.Call(target, [X]), X.struct_info)
    (group,) = detect_recursion(ir.IRModule(functions))
    assert len(group) == 1500
