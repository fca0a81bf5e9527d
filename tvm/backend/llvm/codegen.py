"""Lowered PrimFuncs to the text of one LLVM module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar
from tvm.ir.function import CallingConv
from tvm.ir.host_tensor import HostTensor
from tvm.ir.module import IRModule
from tvm.ir.span import Span
from tvm.ir.type import PrimType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc

from .abi import FFI_PREFIX
from .debug import DebugPlaces
from .fragment import put, taken
from .function_text import FunctionText
from .imported_text import with_imports
from .jit import Machine, data_layout
from .kept_kernels import KEEP, kept_code, store_kernel
from .module_text import ModuleText, Signature
from .parallel import launch_parallel_loop, outline_scope, pointer_attributes
from .polls import Polls, of_child
from .stmt import StmtEmitter
from .system_lib import register_at_start
from .types import value_type


class FunctionEmitter(StmtEmitter):
    """The code of one function, and of the functions cut out of it."""

    def __init__(
        self, out: FunctionText, *, noalias: bool, parallel_allowed: bool = True
    ) -> None:
        super().__init__(out, parallel_allowed=parallel_allowed)
        self.noalias = noalias
        self.span: Span | None = None

    def child(
        self,
        signature: Signature,
        names: Sequence[str],
        attributes: Sequence[str],
        *,
        parallel_allowed: bool = True,
    ) -> FunctionEmitter:
        """An emitter for an internal function that belongs to this one."""
        out = FunctionText(self.module, signature, list(names), list(attributes), "internal")
        made = FunctionEmitter(
            out, noalias=self.noalias, parallel_allowed=parallel_allowed and self.parallel_allowed
        )
        made.polls = of_child(self.polls, made)
        made.describe(self.debug, self.span)
        return made

    def adopt(
        self, parent: FunctionEmitter, variables: Sequence[e.Var], values: Sequence[str]
    ) -> None:
        """Know the parent's variables under the names that they have here."""
        for var, value in zip(variables, values):
            self.values[var] = value
            if var in parent.roots:
                self.roots.add(var)

    def outline(self, op: s.AttrStmt) -> None:
        outline_scope(self, op)

    def parallel_loop(self, op: s.For) -> None:
        launch_parallel_loop(self, op)


class Emitted(NamedTuple):
    """A module as text, with what the text refers to."""

    text: str
    constants: dict[str, HostTensor]
    packed: tuple[str, ...]  # names of the functions that can be called from outside
    entry: str | None  # the one that `mod(...)` calls
    looks_up: bool = False  # whether it calls functions that it finds by name


def emit_module(mod: IRModule, machine: Machine, *, debug: bool = False) -> Emitted:
    """The text for all PrimFuncs of a module; `debug` adds the source lines of spans.

    Without it, debuggers and profilers are told the functions and their parameters.
    """
    module = ModuleText(
        machine.triple, data_layout(machine), machine.cpu, machine.features, machine.fast_math
    )
    places = DebugPlaces(module, lines=debug)
    functions = _functions(mod)
    for var, func in functions:
        signature = _signature(var, func)
        module.names.reserve(signature.name)
        module.signatures[signature.name] = signature
        module.signatures[var.name_hint] = signature
    packed: list[str] = []
    entry: str | None = None
    for var, func in functions:
        signature = module.signatures[var.name_hint]
        if not _emit_apart(module, signature, func):
            _emit_function(module, signature, func, places)
        if signature.packed:
            packed.append(signature.name.removeprefix(FFI_PREFIX))
            if func.attrs.get("tir.is_entry_func"):
                entry = packed[-1]
    if mod.attrs.get("system_lib_prefix") is not None:
        register_at_start(module, [FFI_PREFIX + name for name in packed])
    text = with_imports(module.text(), module.imported, machine)
    return Emitted(text, module.constants, tuple(packed), entry, module.uses_context)


def _functions(mod: IRModule) -> list[tuple[GlobalVar, PrimFunc]]:
    found = []
    for var, func in mod.functions_items():
        if not isinstance(func, PrimFunc):
            raise CheckError(
                message(
                    f"machine code for {var.name_hint}",
                    found=type(func).__name__,
                    legal="PrimFunc; relax functions are compiled by tvm.compile or relax.build",
                )
            )
        if func.buffer_map:
            raise CheckError(
                message(
                    f"machine code for {var.name_hint}",
                    found="parameters that are still buffers",
                    legal="lowered functions; tvm.compile lowers and builds in one step",
                )
            )
        found.append((var, func))
    return found


def _signature(var: GlobalVar, func: PrimFunc) -> Signature:
    packed = _is_packed(func)
    symbol = func.attrs.get("global_symbol")
    name = str(symbol) if symbol is not None else var.name_hint
    if packed and not name.startswith(FFI_PREFIX):
        name = FFI_PREFIX + name
    params = tuple(value_type(p.dtype) for p in func.params)
    result = "i32"
    returned = func.ret_type
    fallible = packed or not isinstance(returned, PrimType) or returned.dtype.is_void
    if not fallible and isinstance(returned, PrimType):
        result = value_type(returned.dtype)
    return Signature(name, result, params, packed, fallible)


def _is_packed(func: PrimFunc) -> bool:
    convention = func.attrs.get("calling_conv")
    return convention is not None and int(str(convention)) == CallingConv.C_PACKED_FUNC


def _emit_apart(module: ModuleText, signature: Signature, func: PrimFunc) -> bool:
    """Emit a function whose code is in the cache, or will be; False where it is not of these."""
    fragment = kept_code(func, signature.params)
    if fragment is None and KEEP in func.attrs:
        part = ModuleText(
            module.machine_triple, module.data_layout, module.cpu, module.features, module.fast_math
        )
        places = DebugPlaces(part, lines=False)
        first = len(part.nodes)
        part.names.reserve(signature.name)
        _emit_function(part, signature, func, places)
        fragment = taken(part, signature, first)
        if fragment is not None:
            store_kernel(func, fragment)
    if fragment is not None:
        put(fragment, module)
    return fragment is not None


def _emit_function(
    module: ModuleText, signature: Signature, func: PrimFunc, places: DebugPlaces
) -> None:
    asked = func.attrs.get("tir.noalias")
    # Buffers of a TIR function are different memory unless the function says otherwise.
    noalias = asked is None or bool(asked)
    plain = not signature.packed
    attributes = [pointer_attributes(p, noalias) if plain else "" for p in func.params]
    private = plain and func.attrs.get("global_symbol") is None
    names = [p.name for p in func.params]
    out = FunctionText(module, signature, names, attributes, "internal" if private else "")
    emitter = FunctionEmitter(out, noalias=noalias)
    emitter.span = func.span
    emitter.describe(places, func.span)
    for param, value in zip(func.params, out.params):
        emitter.values[param] = value
        if param.dtype.is_handle and plain:
            emitter.roots.add(param)
    emitter.polls = Polls.of_function(emitter, str(signature.name), func.body)
    emitter.emit(func.body)
    emitter.close()
