"""Data types of users: how programs over `custom[name]bits` are computed with other functions.

A type has a name and a code; functions registered for it say what each operation becomes. The pass
`tir.LowerCustomDatatypes` asks for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvm.error import CheckError, TVMError, message
from tvm.ffi import register_global_func
from tvm.support.dtype import DataType, custom_types, register_custom_type
from tvm.support.lazy import lazy_names
from tvm.support.suggest import did_you_mean

# What makes lower functions builds expressions, which are a floor above.
__getattr__ = lazy_names(
    __name__,
    {
        name: f"tvm.tir.custom_datatypes:{name}"
        for name in (
            "create_lower_func", "create_min_lower_func", "lower_call_pure_extern", "lower_ite",
        )
    },
)  # fmt: skip

FIRST_CODE: Final = 129  # smaller ones belong to types that everybody has
_LOWER: Final[dict[str, Callable[..., Any]]] = {}


def register(type_name: str, type_code: int) -> None:
    """Make `custom[type_name]bits` a data type with this code."""
    if type_code < FIRST_CODE:
        raise CheckError(
            message(
                f"register data type {type_name!r}",
                found=f"code {type_code}, which is not for users",
                legal=f"codes from {FIRST_CODE} on",
            )
        )
    taken = next((n for n, c in custom_types().items() if c == type_code and n != type_name), None)
    if taken is not None:
        raise CheckError(
            message(
                f"register data type {type_name!r}",
                found=f"code {type_code} belongs to {taken!r}",
                legal="a code of its own",
            )
        )
    register_custom_type(type_name, type_code)


def get_type_name(type_code: int) -> str:
    """The name of the type with this code."""
    for name, code in custom_types().items():
        if code == type_code:
            return name
    raise CheckError(
        message(
            f"data type with code {type_code}",
            found="none is registered",
            legal=", ".join(f"{code} ({name})" for name, code in custom_types().items()) or "none",
        )
    )


def get_type_code(type_name: str) -> int:
    """The code of the type with this name."""
    code = custom_types().get(type_name)
    if code is None:
        raise CheckError(
            message(
                f"data type {type_name!r}",
                found=f"it is not registered{did_you_mean(type_name, custom_types())}",
                legal=", ".join(custom_types()) or "none",
            )
        )
    return code


def get_type_registered(type_code: int) -> bool:
    """Whether a type has this code."""
    return type_code in custom_types().values()


# What a tensor asks for that prints its type, or is made with one.
register_global_func("dtype.get_custom_type_name", get_type_name, override=True)
register_global_func("dtype.get_custom_type_code", get_type_code, override=True)


def register_op(
    lower_func: Callable[[Any], Any],
    op_name: str,
    target: str,
    src_type_name: str,
    dest_type_name: str | None = None,
    intrinsic_name: str | None = None,
) -> None:
    """`lower_func(expr) -> expr` says what an operation on a type becomes for a target kind.

    `op_name` is a node's name (`Add`, `FloatImm`); `Cast` needs `dest_type_name`, `Call` needs
    `intrinsic_name` (`tir.exp`).
    """
    if op_name == "Cast" and dest_type_name is None:
        raise _incomplete(op_name, "dest_type_name")
    if op_name == "Call" and intrinsic_name is None:
        raise _incomplete(op_name, "intrinsic_name")
    name = _lower_name(target, op_name, src_type_name, dest_type_name, intrinsic_name)
    _LOWER[name] = lower_func
    register_global_func(name, lower_func, override=True)


def has_rules() -> bool:
    """Whether somebody has said what an operation on a type of his own becomes."""
    return bool(_LOWER)


def _incomplete(op_name: str, option: str) -> TVMError:
    return TVMError(
        message(f"register_op of {op_name}", found=f"no {option}", legal=f"{option} as a name")
    )


def _lower_name(
    target: str, op_name: str, source: str, dest: str | None, intrinsic: str | None
) -> str:
    if op_name == "Cast":
        return f"tvm.datatype.lower.{target}.Cast.{dest}.{source}"
    if op_name == "Call":
        return f"tvm.datatype.lower.{target}.Call.intrin.{intrinsic}.{source}"
    return f"tvm.datatype.lower.{target}.{op_name}.{source}"


def find_lower_func(
    target: str,
    op_name: str,
    src_type_name: str,
    dest_type_name: str | None = None,
    intrinsic_name: str | None = None,
) -> Callable[[Any], Any]:
    """What `register_op` was given; a TVMError that names what is missing."""
    name = _lower_name(target, op_name, src_type_name, dest_type_name, intrinsic_name)
    found = _LOWER.get(name)
    if found is None:
        raise CheckError(
            message(
                f"lower {intrinsic_name or op_name} of data type {src_type_name}"
                + (f" to {dest_type_name}" if op_name == "Cast" else ""),
                found=f"no rule for target {target}",
                legal="tvm.target.datatype.register_op(...) with such a rule first",
            )
        )
    return found


def register_min_func(func: Callable[[int], Any], type_name: str) -> None:
    """`func(bits) -> expr` says what the smallest value of a type is."""
    name = f"tvm.datatype.min.{type_name}"
    _LOWER[name] = func
    register_global_func(name, func, override=True)


def find_min_func(dtype: DataType) -> Callable[[int], Any]:
    """What `register_min_func` was given for a type."""
    type_name = get_type_name(dtype.type_code)
    found = _LOWER.get(f"tvm.datatype.min.{type_name}")
    if found is None:
        raise CheckError(
            message(
                f"the smallest value of data type {type_name}",
                found="no rule",
                legal="tvm.target.datatype.register_min_func(...) first",
            )
        )
    return found
