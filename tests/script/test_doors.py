"""Doors show the words of the dialects or the names of others, and nothing behind them."""

from __future__ import annotations

import importlib

import pytest

from tvm.error import DiagnosticError
from tvm.script import from_source
from tvm.script.forward import forward_dir, forward_names

pytestmark = pytest.mark.pure
DOORS = {
    "tvm.script.ir": ("ir_module", "vdevice", "pyfunc"),
    "tvm.script.tir": ("prim_func", "Buffer", "grid", "int32", "float16x4", "exp", "prefetch"),
    "tvm.script.relax": ("function", "Tensor", "add", "nn", "call_tir", "str", "tuple", "max"),
    "tvm.script.ir_builder.ir": ("ir_module", "IRModuleFrame"),
    "tvm.script.ir_builder.ir.ir": ("decl_function",),
    "tvm.script.ir_builder.ir.frame": ("IRModuleFrame",),
    "tvm.script.ir_builder.tir": ("prim_func", "block", "ForFrame"),
    "tvm.script.ir_builder.tir.ir": ("match_buffer",),
    "tvm.script.ir_builder.tir.frame": ("LaunchThreadFrame",),
    "tvm.script.ir_builder.relax": ("function", "emit", "BlockFrame"),
    "tvm.script.ir_builder.relax.ir": ("dataflow",),
    "tvm.script.ir_builder.relax.frame": ("IfFrame",),
    "tvm.script.parser.ir.entry": ("ir_module",),
    "tvm.script.parser.ir.parser": ("ModuleWithGlobalVars", "pre_visit_local_function"),
    "tvm.script.parser.tir.entry": ("BufferProxy", "TIRMacro"),
    "tvm.script.parser.tir.operation": ("subscript",),
    "tvm.script.parser.tir.parser": ("bind_assign_value",),
    "tvm.script.parser.relax.entry": ("TensorProxy", "match_cast", "Callable"),
    "tvm.script.parser.relax.parser": ("is_recursive", "enter_token", "exit_token"),
    "tvm.tir.analysis.analysis": ("verify_memory",),
    "tvm.tir.transform.transform": ("BindTarget", "LoopPartitionConfig", "PrimFuncPass"),
    "tvm.tir.transform.function_pass": ("prim_func_pass", "PrimFuncPass"),
}


@pytest.mark.parametrize("door", DOORS)
def test_doors_open(door: str) -> None:
    module = importlib.import_module(door)
    for name in DOORS[door]:
        assert getattr(module, name) is not None
        assert getattr(module, name) is not NotImplemented
    assert set(DOORS[door]) - set(dir(module)) <= {"float16x4", "prefetch"}


@pytest.mark.parametrize("door", ["tvm.script.tir", "tvm.script.relax", "tvm.script.ir"])
def test_no_way_leads_out_of_the_dialects(door: str) -> None:
    module = importlib.import_module(door)
    for name in ("os", "sys", "importlib", "functools", "Any", "words", "_op", "nonsense"):
        assert not hasattr(module, name)


def test_private_names_of_modules_are_out_of_reach() -> None:
    text = "@T.prim_func\ndef f():\n    T.evaluate(T._words.inspect.sys.exit())\n"
    with pytest.raises(DiagnosticError, match="'_words' is private to the module"):
        from_source(text)


def test_forwarding_asks_each_home_in_turn() -> None:
    find = forward_names(__name__, "math", "string")
    assert find("ascii_letters").startswith("abc")
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        find("nothing")
    assert {"sqrt", "Template"} <= set(forward_dir("math", "string")())
