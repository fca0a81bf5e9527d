"""Lowered PrimFuncs to the text of one LLVM module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tvm.backend.host_functions import (
    Function,
    Signature,
    host_functions,
    own_memory_is_apart,
    signature_of,
)
from tvm.ir.expr import GlobalVar
from tvm.ir.host_tensor import HostTensor
from tvm.ir.module import IRModule
from tvm.ir.type import PrimType
from tvm.runtime.imports import FFI_PREFIX
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import statements, walk
from tvm.tir.transform.outline_parallel_loops import IS_TASK, OUTLINED_FROM, aliased_params

from .debug import DebugLocations
from .fragment import Fragment, put, taken, uncounted
from .function_text import FunctionText
from .imported_text import with_imports
from .jit import Machine, data_layout
from .kept_kernels import KEEP, kept_code, store_kernel
from .module_text import AS_IT_IS, CALLER, PLAIN, ModuleText
from .polls import Polls
from .stmt import StmtEmitter
from .system_lib import register_at_start
from .types import element_bytes, value_type


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
    locations = DebugLocations(module, lines=debug)
    families = _families(host_functions(mod, "machine code"))
    for family in families.values():
        _declare(module, *family[0])
    packed: list[str] = []
    entry: str | None = None
    for var, family in families.items():
        func = family[0][1]
        signature = module.signatures[var.name_hint]
        if not _emit_apart(module, signature, family):
            _emit_function(module, signature, family, locations)
        if signature.packed:
            packed.append(signature.name.removeprefix(FFI_PREFIX))
            if func.attrs.get("tir.is_entry_func"):
                entry = packed[-1]
    if mod.attrs.get("system_lib_prefix") is not None:
        register_at_start(module, [FFI_PREFIX + name for name in packed])
    text = with_imports(module.text(), module.imported, machine)
    return Emitted(text, module.constants, tuple(packed), entry, module.uses_context)


def _families(functions: Sequence[Function]) -> dict[GlobalVar, list[Function]]:
    """The functions of the program, each with those that were cut out of it behind it."""
    families = {v: [(v, f)] for v, f in functions if OUTLINED_FROM not in f.attrs}
    by_name = {var.name_hint: family for var, family in families.items()}
    for var, func in functions:
        if OUTLINED_FROM in func.attrs:
            by_name[str(func.attrs[OUTLINED_FROM])].append((var, func))
    return families


def _declare(module: ModuleText, var: GlobalVar, func: PrimFunc) -> Signature:
    """Make a function known under the name that it has in the program, and under its symbol."""
    signature = signature_of(
        var, func, param_type=lambda param: value_type(param.dtype), value_type=value_type
    )
    if signature.outlined:
        signature = replace(signature, name=module.names.fresh(uncounted(signature.name), "."))
    module.names.reserve(signature.name)
    module.signatures[signature.name] = signature
    module.signatures[var.name_hint] = signature
    return signature


def kernel_code(mod: IRModule, machine: Machine) -> Fragment | None:
    """The code of a module's only function, and those cut out of it, as `emit_module` has it."""
    module = ModuleText(
        machine.triple, data_layout(machine), machine.cpu, machine.features, machine.fast_math
    )
    (family,) = _families(host_functions(mod, "machine code")).values()
    return _apart(module, _declare(module, *family[0]), family)


def _emit_apart(module: ModuleText, signature: Signature, family: Sequence[Function]) -> bool:
    """Emit a function whose code is in the cache, or will be; False where it is not of these."""
    func = family[0][1]
    fragment = kept_code(func, signature.params)
    if fragment is None and KEEP in func.attrs:
        fragment = _apart(module, signature, family)
        if fragment is not None:
            store_kernel(str(func.attrs[KEEP]), fragment.to_text())
    if fragment is not None:
        put(fragment, module)
    return fragment is not None


def _apart(
    module: ModuleText, signature: Signature, family: Sequence[Function]
) -> Fragment | None:
    """The code of a function, by itself; None where it needs what a fragment has not."""
    part = ModuleText(
        module.machine_triple, module.data_layout, module.cpu, module.features, module.fast_math
    )
    locations = DebugLocations(part, lines=False)
    first = len(part.nodes)
    _declare(part, *family[0])
    _emit_function(part, signature, family, locations)
    return taken(part, signature, first)


def _emit_function(
    module: ModuleText, signature: Signature, family: Sequence[Function], locations: DebugLocations
) -> None:
    """Emit a function, and those that were cut out of it."""
    declared = [_declare(module, var, func) for var, func in family[1:]]
    for own, (_, func) in zip(declared, family[1:]):
        form = PLAIN if IS_TASK in func.attrs else _form_of(func.body)
        _emit_one(module, own, func, locations, signature.name, form)
    once = signature.packed and len(family) > 1  # what is left in it runs once a call
    form = AS_IT_IS if once else PLAIN
    _emit_one(module, signature, family[0][1], locations, signature.name, form)


def _emit_one(
    module: ModuleText, signature: Signature, func: PrimFunc, locations: DebugLocations,
    kernel: str, form: str,
) -> None:  # fmt: skip
    noalias = own_memory_is_apart(func)
    aliased = aliased_params(func)
    plain = not signature.packed
    attributes = [
        _pointer_attributes(param, noalias and n not in aliased) if plain else ""
        for n, param in enumerate(func.params)
    ]
    names = [p.name for p in func.params]
    linkage = "internal" if signature.private else ""
    out = FunctionText(module, signature, names, attributes, linkage)
    out.attributes = form
    emitter = StmtEmitter(out)
    emitter.describe(locations, func.span)
    emitter.values.update(zip(func.params, out.params))
    emitter.polls = Polls.of_function(emitter, kernel, func.body)
    emitter.emit(func.body)
    emitter.close()


def _pointer_attributes(var: e.Var, noalias: bool) -> str:
    """What is promised of a pointer parameter: its own memory, and whole elements."""
    if not var.dtype.is_handle:
        return ""
    pointee = getattr(var.type_annotation, "element_type", None)
    dtype = pointee.dtype if isinstance(pointee, PrimType) else None
    known = dtype is not None and not (dtype.is_void or dtype.is_custom)
    align = f"align {element_bytes(dtype)}" if known and dtype is not None else ""
    return " ".join(part for part in ("noalias" if noalias else "", align) if part)


def _form_of(body: s.Stmt) -> str:
    """How LLVM takes code that was cut out: as it is where it only hands work on to kernels.

    Each of these would be inlined into it. What it loads itself, as a clock between the kernels, is
    little beside theirs; code that loads and calls no kernel is one. Loops around calls are
    optimised, and the kernels stay apart.
    """
    if any(isinstance(node, (s.For, s.While)) for node in statements(body, s.Stmt)):
        return CALLER if _hands_on(body) else PLAIN
    loads = calls = False
    for node in walk(body):
        if e.is_call_of(node, "tir.parallel_launch"):
            return PLAIN
        loads = loads or isinstance(node, e.BufferLoad)
        calls = calls or (isinstance(node, e.Call) and isinstance(node.op, GlobalVar))
    return AS_IT_IS if calls or not loads else PLAIN


def _hands_on(body: s.Stmt) -> bool:
    """Whether statements call kernels, and launch no tasks of their own."""
    found = False
    for stmt in statements(body, s.Stmt):
        value = stmt.value if isinstance(stmt, (s.Evaluate, s.LetStmt)) else None
        if e.is_call_of(value, "tir.parallel_launch"):
            return False
        found = found or (isinstance(value, e.Call) and isinstance(value.op, GlobalVar))
    return found
