"""Intrinsics of LLVM for AMD's GPUs: Clang has a builtin for each, of the same name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tvm.backend.c_family.expr import Rule
from tvm.backend.c_family.intrinsics import rule_in
from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e

if TYPE_CHECKING:
    from .codegen import HipEmitter

AMDGCN: Final[dict[str, Rule]] = {}
_PREFIX: Final = "llvm.amdgcn."
# Builtins take vectors of the compiler, not HIP's classes; both lie in memory the same way.
_ELEMENTS: Final = {"float16": "_Float16", "float32": "float", "int32": "int"}
_LEGAL: Final = 'T.call_llvm_pure_intrin("int32", "llvm.amdgcn.sdot4", ...)'


@rule_in(AMDGCN, "call_llvm_intrin", "call_llvm_pure_intrin")
def _builtin(emit: HipEmitter, op: e.Call) -> str:
    name = op.args[0].value if isinstance(op.args[0], e.StringImm) else str(op.args[0])
    if not name.startswith(_PREFIX):
        emit.refuse(f"LLVM intrinsic {name}", "no intrinsic of AMD's GPUs", _LEGAL)
    args = ", ".join(_operand(emit, arg) for arg in op.args[1:])
    call = f"__builtin_amdgcn_{name.removeprefix(_PREFIX).replace('.', '_')}({args})"
    if op.dtype.is_void:
        emit.out.line(f"{call};")
        return ""
    if not op.dtype.is_vector:
        return call
    result = emit.out.fresh("v_")
    emit.out.line(f"{_vector(emit, op)} {result} = {call};")
    return f"(*({emit.type_of(op.dtype)}*)(&{result}))"


def _operand(emit: HipEmitter, arg: PrimExpr) -> str:
    if not arg.dtype.is_vector:
        return emit.lane_of(arg, None)
    return f"(*({_vector(emit, arg)}*)(&{emit.named(arg)}))"


def _vector(emit: HipEmitter, value: PrimExpr) -> str:
    """The compiler's vector of a type."""
    dtype = value.dtype
    element = _ELEMENTS.get(str(dtype.element_of()))
    if element is None:
        emit.refuse(f"a builtin on {dtype}", "no such vector", ", ".join(_ELEMENTS))
    name = f"amd_{element.strip('_').lower()}x{dtype.lanes}"
    emit.out.file.need(
        name, f"typedef {element} {name} __attribute__((ext_vector_type({dtype.lanes})));"
    )
    return name
