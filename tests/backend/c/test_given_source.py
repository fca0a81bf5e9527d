"""Modules of source code that somebody else wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

import tvm
from tests.backend.c.test_load import SEVEN
from tvm.error import TVMError
from tvm.runtime import Module, load_module

pytestmark = pytest.mark.cpu
ADD_ONE = """
#include <tvm/ffi/function.h>
static int add_one(int x) { return x + 1; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, add_one)
"""


def module(code: str = "", fmt: str = "c", names: tuple[str, ...] = ()) -> Module:
    made = tvm.get_global_func("runtime.CSourceModuleCreate")(code, fmt, names, None)
    assert isinstance(made, Module)
    return made


def test_what_it_is() -> None:
    made = module("int x;", "c", ("seven",))
    assert (made.kind, made.inspect_source(), list(made.get_write_formats())) == (
        "c", "int x;", ["c"],
    )  # fmt: skip
    assert made.implements_function("seven")
    assert made.is_binary_serializable()
    assert made.is_compilation_exportable()
    assert not made.is_runnable()


def test_its_functions_run() -> None:
    assert module(SEVEN.decode(), "c", ("seven",))["seven"]() == 7
    assert module(ADD_ONE, "cc", ("add_one",))["add_one"](4) == 5


def test_it_goes_into_a_library(tmp_path: Path) -> None:
    module(ADD_ONE, "cc", ("add_one",)).export_library(tmp_path / "add.so")
    assert load_module(tmp_path / "add.so")["add_one"](4) == 5
    module(SEVEN.decode()).write_to_file(str(tmp_path / "seven.c"))
    assert load_module(tmp_path / "seven.c")["seven"]() == 7


def test_code_for_other_machines_is_not_run() -> None:
    with pytest.raises(TVMError, match="format 'cu'"):
        module("__global__ void f() {}", "cu", ("f",))["f"]()


def test_a_tree_of_modules_as_json() -> None:
    tree = [module(f"// {i}") for i in range(4)]
    tree[0].import_module(tree[1])
    tree[1].import_module(tree[2])
    tree[1].import_module(tree[3])
    back = tvm.ir.load_json(tvm.ir.save_json(tree[0]))
    assert back.kind == "c"
    assert [m.inspect_source() for m in back.imports[0].imports] == ["// 2", "// 3"]
    again = tvm.ir.load_json(tvm.ir.save_json({"external_mods": [tree[3]]}))
    assert again["external_mods"][0].inspect_source() == "// 3"
