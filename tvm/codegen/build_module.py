"""Build with a code generator of one's own.

    class Lines(CodeGenBase):
        language = "lines"

        def generate_code(self, stmt, target):
            return str(stmt)

    tvm.build(mod, target="llvm", codegen=Lines()).inspect_source()

The generator gets each function as the default pipeline lowers it: flat loops; addresses, numbers
and sizes for parameters; intrinsics still by their names. For a GPU it gets the kernels, and the
host code is ours. Text in C runs: a host function around it checks and unpacks the arguments.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, Sequential
from tvm.runtime.generated_code import GeneratedCode
from tvm.runtime.module import Module
from tvm.support.contiguous_frames import contiguous_frames
from tvm.support.entry_points import entry_points
from tvm.support.garbage import infrequent_gc
from tvm.support.recursion import nested_programs
from tvm.support.suggest import did_you_mean
from tvm.target.target import Target
from tvm.tir import transform as t
from tvm.tir.build import (
    PipelineLike,
    chosen_target,
    codegen_build,
    host_of,
    only_prim_funcs,
    pipeline_of,
    split_host_device_mods,
)
from tvm.tir.function import PrimFunc
from tvm.tir.op import builtin
from tvm.tir.pipeline import finalize_host_passes, lowering_passes
from tvm.tir.stmt import Evaluate
from tvm.tir.transform.direct_api import direct_calls, direct_form, direct_params
from tvm.tir.transform.make_packed_api import MakeCheckedPackedAPI

from .generated_module import GENERATED, LANGUAGES, GeneratedModule

ENTRY_POINT_GROUP: Final = "tvm.codegens"  # where installed packages offer theirs by name
Generated = str | bytes | Module | None


class CodeGenBase:
    """What a code generator derives from."""

    language: ClassVar[str] = ""  # of its texts; without one they are C, or kernels of the target

    def generate_code(self, stmt: PrimFunc, target: Target) -> Generated:
        """Code of one lowered function: text, bytes, or a Module that has the function.

        None says that the function needs no code.
        """
        raise TypeError(
            f"{type(self).__name__} does not say how code is generated; "
            "legal: a method generate_code(self, stmt, target)"
        )


CODEGENS: Final[dict[str, type[CodeGenBase]]] = {}


def register_codegen(name: str, codegen: type[CodeGenBase]) -> None:
    """Let `tvm.build(codegen=name)` find a class of code generators."""
    if CODEGENS.get(name, codegen) is not codegen:
        raise ValueError(f"register_codegen: {name!r} is {CODEGENS[name].__qualname__} already")
    CODEGENS[name] = codegen


def find_codegen(name: str) -> CodeGenBase:
    """A code generator by its name: a registered one, or one that an installed package offers."""
    if name not in CODEGENS:
        for entry in entry_points(group=ENTRY_POINT_GROUP):
            if entry.name == name:
                CODEGENS[name] = entry.load()
    if name not in CODEGENS:
        known = sorted({*CODEGENS, *(e.name for e in entry_points(group=ENTRY_POINT_GROUP))})
        raise CheckError(
            message(
                f"code generator {name!r}",
                found=f"none of this name{did_you_mean(name, known)}",
                legal=", ".join(known) or "register_codegen(name, cls)",
            )
        )
    return CODEGENS[name]()


@infrequent_gc()
@contiguous_frames
def build(
    mod: PrimFunc | IRModule,
    codegen: CodeGenBase | str,
    target: str | Target | None = None,
    pipeline: PipelineLike = "default",
) -> Module:
    """A module of what a code generator, or the one of a name, makes of the functions."""
    generator = find_codegen(codegen) if isinstance(codegen, str) else codegen
    if not callable(getattr(generator, "generate_code", None)):
        raise TypeError(
            message(
                "tvm.build: codegen",
                found=type(generator).__name__,
                legal="an instance of a class derived from tvm.codegen.CodeGenBase, or a name",
            )
        )
    if isinstance(mod, PrimFunc):
        mod = IRModule.from_expr(mod)
    chosen = chosen_target(mod, target)
    with nested_programs():
        mod = only_prim_funcs(mod)
        if "gpu" in chosen.keys:
            return _build_kernels(mod, generator, chosen, pipeline)
        return _build_functions(mod, generator, chosen, pipeline)


def _build_functions(
    mod: IRModule, generator: CodeGenBase, target: Target, pipeline: PipelineLike
) -> Module:
    mod = t.BindTarget(target)(mod)
    own = pipeline not in (None, "default")
    if own:
        mod = pipeline_of(pipeline, target)(mod)
    else:
        ctx = PassContext.current()
        mod = Sequential([*lowering_passes(ctx), t.AnnotateEntryFunc()])(mod)
    plain = mod if own else _plain(mod)
    made = {
        str(func.attrs.get("global_symbol", var.name_hint)): _generated(generator, func, target)
        for var, func in plain.functions_items()
        if isinstance(func, PrimFunc)
    }
    language = getattr(generator, "language", "") or "c"
    texts = {n: code for n, code in made.items() if isinstance(code, str)}
    if language not in LANGUAGES:
        return _with_rest(GeneratedModule("", "c", [], IRModule({})), made, language, set())
    source = "\n".join(texts.values())
    wrapped = [name for name in texts if f"__tvm_ffi_{name}" not in source and not own]
    root = GeneratedModule(source, language, list(texts), _wrappers(mod, wrapped))
    return _with_rest(root, made, "", set(texts))


def _build_kernels(
    mod: IRModule, generator: CodeGenBase, target: Target, pipeline: PipelineLike
) -> Module:
    """Kernels by the generator; the functions that launch them by our own code for the host."""
    host = target.host if target.host is not None else host_of(target)
    mod = t.BindTarget(target.with_host(host))(mod)
    mod = pipeline_of(pipeline, target)(mod)
    host_mod, device_mods = split_host_device_mods(mod)
    root = codegen_build(finalize_host_passes()(host_mod), host)
    for device, part in device_mods.items():
        made = {
            str(func.attrs.get("global_symbol", var.name_hint)): _generated(generator, func, device)
            for var, func in part.functions_items()
            if isinstance(func, PrimFunc)
        }
        _with_rest(root, made, getattr(generator, "language", "") or device.kind.name, set())
    return root


def _generated(generator: CodeGenBase, func: PrimFunc, target: Target) -> Generated:
    found: Any = generator.generate_code(func, target)
    if found is None or isinstance(found, (str, bytes, Module)):
        return found
    if isinstance(found, bytearray):
        return bytes(found)
    raise TypeError(
        message(
            f"{type(generator).__name__}.generate_code",
            found=type(found).__name__,
            where=f"function {func.attrs.get('global_symbol')}",
            legal="text, bytes, a runtime Module, or None",
        )
    )


def _with_rest(
    root: Module, made: dict[str, Generated], language: str, done: set[str]
) -> Module:
    """`root`, which imports what is not its own: other modules, and code that only others run."""
    kept: dict[str, str | bytes] = {}
    for name, code in made.items():
        if isinstance(code, Module):
            root.import_module(code)
        elif code is not None and name not in done:
            kept[name] = code
    if kept:
        root.import_module(GeneratedCode(language, kept))
    return root


def _plain(mod: IRModule) -> IRModule:
    """The functions with addresses, numbers and sizes for parameters."""
    functions = {
        var: direct_form(direct_calls(func, mod)) if isinstance(func, PrimFunc) else func
        for var, func in mod.functions.items()
    }
    return mod.with_functions(functions)


def _wrappers(mod: IRModule, names: list[str]) -> IRModule:
    """Functions that take tensors, check them, and call the generated code with what is in them."""
    functions: dict[GlobalVar, PrimFunc] = {}
    for var, func in mod.functions.items():
        assert isinstance(func, PrimFunc), "other functions were left out before"
        name = func.attrs.get("global_symbol")
        if name in names:
            call = builtin.call_extern("int32", f"{GENERATED}{name}", *direct_params(func))
            functions[var] = func.with_body(Evaluate(call))
    passes = [MakeCheckedPackedAPI(), finalize_host_passes()]
    return Sequential(passes)(mod.with_functions(functions))
