"""The parts of a module's text: declarations, strings, constants, metadata."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.backend.host_functions import Signature
from tvm.backend.llvm.module_text import INLINE_CONSTANT_BYTES, ModuleText
from tvm.error import TVMError
from tvm.ir.host_tensor import HostTensor

pytestmark = pytest.mark.pure


def test_declarations_stand_once_and_in_order() -> None:
    module = ModuleText()
    for name in ("b", "a", "b"):
        assert module.declare(name, "i32", "ptr") == f"@{name}"
    text = module.text()
    assert text.count("declare i32 @b(ptr)") == 1
    assert text.index("@a(") < text.index("@b(")


def test_functions_of_the_module_are_not_declared() -> None:
    module = ModuleText()
    module.signatures["f"] = Signature("f", "i32", ())
    module.declare("f", "i32", "")
    assert "declare" not in module.text()


def test_one_external_function_has_one_result_type() -> None:
    module = ModuleText()
    module.declare("f", "i32", "ptr")
    with pytest.raises(TVMError, match="legal: one result type for a function"):
        module.declare("f", "float", "ptr")


def test_equal_strings_are_one() -> None:
    module = ModuleText()
    assert module.string("a") == module.string("a") != module.string("b")


def test_small_constants_are_in_the_text_and_large_ones_are_not() -> None:
    module = ModuleText()
    small = module.constant(HostTensor(np.arange(4, dtype="int8")), "table")
    assert f'{small} = private unnamed_addr constant [4 x i8] c"\\00\\01\\02\\03"' in module.text()
    values = np.zeros(INLINE_CONSTANT_BYTES + 1, "int8")
    large = module.constant(HostTensor(values), "weights")
    assert module.constant(HostTensor(values.copy()), "same") == large
    assert f"{large} = external constant [{values.nbytes} x i8], align 64" in module.text()
    assert list(module.constants) == [large[1:]]


def test_metadata_may_name_itself() -> None:
    module = ModuleText()
    name = module.metadata("distinct !{{self}}")
    assert f"{name} = distinct !{{{name}}}" in module.text()
    assert module.shared_metadata("!{}") == module.shared_metadata("!{}")


def test_a_function_called_like_one_of_the_c_library() -> None:
    """The function stands under `__tvm_ffi_sin`, so that `sin` is still one from outside."""
    module = ModuleText()
    module.signatures["sin"] = Signature("__tvm_ffi_sin", "i32", (), packed=True)
    assert module.declare("sin", "double", "double") == "@sin"
    assert "declare double @sin(double)" in module.text()
    module.signatures["mine"] = Signature("mine", "i32", ())
    module.declare("mine", "i32", "")
    assert "declare i32 @mine" not in module.text()
