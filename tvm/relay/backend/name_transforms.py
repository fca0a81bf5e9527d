"""Names of generated code, in the styles of C."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.error import TVMError
from tvm.runtime.name_transforms import sanitize_name as sanitize_name


def _checked(name: str, what: str) -> str:
    if not name:
        raise TVMError(f"{what} name is empty")
    if not name.startswith("TVM"):
        raise TVMError(f"{what} not TVM prefixed: {name!r}; legal: names that begin with TVM")
    return name


def to_c_function_style(original_name: str) -> str:
    """TVM_my_model -> TVMMyModel"""
    words = _checked(original_name, "Function")[len("TVM") :].split("_")
    return "TVM" + "".join(word.capitalize() for word in words)


def to_c_variable_style(original_name: str) -> str:
    """TVM_My_Model -> tvm_my_model"""
    return _checked(original_name, "Variable").lower()


def to_c_constant_style(original_name: str) -> str:
    """TVM_My_Model -> TVM_MY_MODEL"""
    return _checked(original_name, "Constant").upper()


def prefix_name(names: str | Sequence[str]) -> str:
    """["my", "model"] -> TVM_my_model"""
    return _joined("TVM", names)


def prefix_generated_name(names: str | Sequence[str]) -> str:
    """["my", "model"] -> TVMGen_my_model"""
    return _joined("TVMGen", names)


def _joined(prefix: str, names: str | Sequence[str]) -> str:
    parts = [names] if isinstance(names, str) else list(names)
    if not parts:
        raise TVMError("Name segments empty; legal: a name or more")
    if not all(parts):
        raise TVMError("Name segment is empty; legal: names that are not empty")
    return "_".join([prefix, *parts])
