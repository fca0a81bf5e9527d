"""Lowered PrimFuncs to the text of one C file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tvm.backend.c_family.code import Code
from tvm.backend.c_family.names import c_name
from tvm.backend.host_functions import (
    Signature,
    host_functions,
    own_memory_is_apart,
    signature_of,
)
from tvm.error import CheckError, TargetError, message
from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.runtime.imports import FFI_PREFIX
from tvm.support.recursion import nested_programs
from tvm.target import Target
from tvm.tir import expr as e
from tvm.tir.function import PrimFunc
from tvm.tir.transform.outline_parallel_loops import aliased_params

from .function_text import FunctionText
from .source_text import SourceText
from .stmt import StmtEmitter
from .types import pointee, value_type, variable_type


class Emitted(NamedTuple):
    """A module as text, with what a loader needs to know."""

    text: str
    packed: tuple[str, ...]  # names of the functions that can be called from outside
    entry: str | None  # the one that `mod(...)` calls
    externals: tuple[str, ...] = ()  # functions that somebody else has to provide


def emit_module(mod: IRModule) -> Emitted:
    """The C file of all PrimFuncs of a module."""
    with nested_programs():
        return _emit_module(mod)


def _emit_module(mod: IRModule) -> Emitted:
    source = SourceText()
    functions = host_functions(mod, "C code")
    for var, func in functions:
        signature = _signature(var, func)
        if signature.private:
            signature = replace(signature, name=source.names.fresh(signature.name))
        source.names.reserve(signature.name)
        source.signatures[signature.name] = signature
        source.signatures[var.name_hint] = signature
    packed: list[str] = []
    entry: str | None = None
    for var, func in functions:
        signature = source.signatures[var.name_hint]
        source.prototypes[signature.name] = ""  # in the order of the module
        _emit_function(source, signature, func)
        if signature.packed:
            packed.append(signature.name.removeprefix(FFI_PREFIX))
            if func.attrs.get("tir.is_entry_func"):
                entry = packed[-1]
    if mod.attrs.get("system_lib_prefix") is not None:
        _register_at_start(source, [FFI_PREFIX + name for name in packed])
    _allow_uncalled(source)
    return Emitted(source.text(), tuple(packed), entry, source.externals)


def emit_text(mod: IRModule, target: Target | str) -> str:
    """The C text of the lowered PrimFuncs of a module."""
    kind = Target(target).kind.name
    if kind != "c":
        raise TargetError(
            message(f"C code for target {kind}", found="another backend's target", legal="c")
        )
    return emit_module(mod).text


def _signature(var: GlobalVar, func: PrimFunc) -> Signature:
    return signature_of(var, func, param_type=_param_type, value_type=value_type, spelled=c_name)


def _param_type(param: e.Var) -> str:
    if param.dtype.is_vector:
        raise CheckError(
            message(
                f"C code for parameter {param.name}",
                found=f"the vector type {param.dtype}",
                legal="scalars and pointers",
            )
        )
    return variable_type(param)


def _emit_function(source: SourceText, signature: Signature, func: PrimFunc) -> None:
    alone = own_memory_is_apart(func) and not signature.packed
    aliased = aliased_params(func)
    restrict = [alone and p.dtype.is_handle and n not in aliased for n, p in enumerate(func.params)]
    out = FunctionText(source, signature, [p.name for p in func.params], restrict)
    emitter = StmtEmitter(out)
    for param, name, is_own in zip(func.params, out.params, restrict):
        emitter.values[param] = Code(name)
        if param.dtype.is_handle:
            emitter.pointees[param] = pointee(param)
            if is_own:
                emitter.roots.add(param)
    emitter.emit(func.body)
    emitter.close()


def _register_at_start(source: SourceText, symbols: Sequence[str]) -> None:
    """Functions that are linked into a program itself announce themselves when it starts."""
    callee = source.declare("TVMFFIEnvModRegisterSystemLibSymbol", "int32_t",
                            ("const char*", "void*"))  # fmt: skip
    calls = [f'  {callee}("{symbol}", (void*){symbol});' for symbol in symbols]
    head = "__attribute__((constructor)) static void register_functions(void) {"
    source.functions.append("\n".join([head, *calls, "}", ""]))


def _allow_uncalled(source: SourceText) -> None:
    """Tell compilers that private functions which nothing calls are no mistake."""
    for signature in source.signatures.values():
        if signature.private and signature.name not in source.called:
            line = source.prototypes[signature.name]
            if not line.startswith("__attribute__"):
                source.prototypes[signature.name] = f"__attribute__((unused)) {line}"
