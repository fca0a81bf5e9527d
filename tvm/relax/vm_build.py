"""From a Relax module to an executable: passes, the graph as native code or bytecode, kernels."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tvm.backend import known_backend, makes_host_code
from tvm.error import message
from tvm.ir.expr import GlobalVar, RelaxExpr, StructInfo
from tvm.ir.function import BaseFunc
from tvm.ir.host_tensor import HostTensor
from tvm.ir.module import IRModule
from tvm.ir.transform import Pass, PassContext
from tvm.relax import transform as t
from tvm.relax.analysis.variables import post_order_visit
from tvm.relax.backend import kept_schedules
from tvm.relax.backend.default_pipeline import DefaultPipeline
from tvm.relax.exec_builder import ExecBuilder, no_kernels
from tvm.relax.expr import Constant, Function, SeqExpr
from tvm.relax.pipeline import get_default_pipeline, get_pipeline, lower_for_machine
from tvm.relax.result_names import result_names
from tvm.relax.struct_info import (
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.relax.transform.dead_code_elimination import called_functions, remove_unused_functions
from tvm.relax.transform.inplace_results import refuse_overwritten_constants
from tvm.relax.transform.specialize import VARIANT_OF
from tvm.relax.vm.bytecode import BytecodeProgram, compile_bytecode
from tvm.relax.vm.codegen_tir import MACHINE_PREFIX, machine_tir
from tvm.relax.vm.extern_source import with_extern_sources
from tvm.relax.vm.kept import load_model, model_key, store_model
from tvm.relax.vm.launching import launching_only
from tvm.relax.vm.native import KernelCall, native_graph
from tvm.relax.vm.native_flow import NotNative
from tvm.relax.vm.variants import VariantBuilder
from tvm.runtime._tensor import Tensor, from_host
from tvm.runtime.artefact import Artefact, FunctionInfo, KernelInfo, ValueInfo
from tvm.runtime.module import Module
from tvm.runtime.vm_executable import VMExecutable, VMModule
from tvm.support.arguments import explained
from tvm.support.contiguous_frames import contiguous_frames
from tvm.support.garbage import infrequent_gc
from tvm.support.log import logger
from tvm.target.target import Target
from tvm.tir import kernels_apart
from tvm.tir.build import build as tir_build
from tvm.tir.expr import IntImm
from tvm.tir.function import PrimFunc

PipelineLike: TypeAlias = "Pass | Callable[..., Any] | str | None"
MODES: Final = ("bytecode", "compiled")
_MANY: Final = 24  # values of graphs whose kernels are worth several processes
_WORTH_KEEPING_SECONDS: Final = 0.2  # what takes less to make is not worth two files
_LOG = logger("relax.build")


@infrequent_gc()
@contiguous_frames
@explained
def build(
    mod: IRModule,
    target: str | Target | None = None,
    params: Mapping[str, Any] | None = None,
    relax_pipeline: PipelineLike = "default",
    tir_pipeline: PipelineLike = "default",
    exec_mode: str = "bytecode",
    *,
    system_lib: bool | None = None,
) -> VMExecutable:
    """Compile a Relax module.

    With `exec_mode="compiled"` each graph becomes native code; one that native code cannot express
    (packed functions, sizes that come from data) runs as bytecode beside it, and so does one for a
    GPU. `params` binds parameters of `main`.
    """
    if exec_mode not in MODES:
        raise ValueError(
            message(f"relax.build: exec_mode {exec_mode!r}", legal=" or ".join(MODES))
        )
    chosen = Target.target_or_current(target) if target or Target.current() else Target("llvm")
    if params:
        mod = t.BindParams("main", dict(params))(mod)
    mod = with_extern_sources(mod)
    source, ctx = mod, PassContext.current()
    plain = (relax_pipeline, tir_pipeline) == ("default", "default")
    key = model_key(mod, chosen, exec_mode) if plain else None
    found = load_model(key, chosen) if key is not None else None
    if found is not None:
        made, is_native = found, bool(found.artefact.profile_calls)
    else:
        started = time.perf_counter()
        backend = known_backend(chosen.kind.name)
        if backend is not None and backend.keeps_kernels and _values_made(mod) > _MANY:
            kernels_apart.begin(kept_schedules.__name__)  # they load while this one goes on
        with chosen:
            mod = _pipeline(relax_pipeline, chosen)(mod)
        native = exec_mode == "compiled" and makes_host_code(chosen)
        linker = _Linker(mod, chosen, tir_pipeline, native=native, held=_constants(source))
        made, is_native = linker.link(), linker.is_native
        if key is not None and time.perf_counter() - started > _WORTH_KEEPING_SECONDS:
            store_model(key, made)
    made.mod.kept_as = key
    if is_native:
        kept, is_lowered = (source, False) if found is not None else (mod, True)

        def as_code() -> VMModule:
            graph = kept
            if not is_lowered:
                with ctx, chosen:
                    graph = _pipeline(relax_pipeline, chosen)(kept)
            return _Linker(graph, chosen, tir_pipeline, native=False).link().mod

        made.mod.bytecode_form = functools.cache(as_code)
    if plain and makes_host_code(chosen) and _has_open_sizes(made.artefact):
        made.mod.variant_builder = VariantBuilder(source, chosen, exec_mode)
    return made


def _values_made(mod: IRModule) -> int:
    """How many values the graphs of a module compute, without those of branches."""
    graphs = [func for func in mod.functions.values() if isinstance(func, Function)]
    return sum(
        len(block.bindings)
        for graph in graphs if isinstance(graph.body, SeqExpr) for block in graph.body.blocks
    )  # fmt: skip


def _constants(mod: IRModule) -> set[HostTensor]:
    """The constants of a module's graphs."""
    found: set[HostTensor] = set()

    def note(expr: RelaxExpr) -> None:
        if isinstance(expr, Constant):
            found.add(expr.data)

    for func in mod.functions.values():
        if isinstance(func, Function):
            post_order_visit(func, note)
    return found


def _has_open_sizes(artefact: Artefact) -> bool:
    """True where a variant for known sizes could differ."""
    shapes = [value.shape for func in artefact.functions for value in func.params]
    return any(not isinstance(extent, int) for shape in shapes for extent in shape)


def _pipeline(pipeline: PipelineLike, target: Target) -> Callable[[IRModule], IRModule]:
    if pipeline is None:
        return lambda mod: mod
    if pipeline in ("default", "default_build"):
        pipeline = get_default_pipeline(target)
    if isinstance(pipeline, DefaultPipeline):
        return pipeline.graph  # the rest is done where a graph does not become native code
    if isinstance(pipeline, str):
        return get_pipeline(pipeline)  # type: ignore[no-any-return]
    return pipeline


def _vmcodegen(builder: ExecBuilder, mod: IRModule, exec_mode: str = "bytecode") -> IRModule:
    """Write the lowered Relax functions of a module into `builder`; gives what is left to build.

    With `exec_mode="compiled"` each function is TIR over the machine's registers beside it.
    """
    if exec_mode not in MODES:
        raise ValueError(message(f"relax: exec_mode {exec_mode!r}", legal=" or ".join(MODES)))
    graphs = [v for v, f in mod.functions.items() if isinstance(f, Function)]
    compile_bytecode(mod, graphs, builder)
    rest = {v: f for v, f in mod.functions.items() if v not in graphs}
    if exec_mode == "compiled":
        rest.update(machine_tir(mod))
    return mod.with_functions(rest)


def _filter_tir(mod: IRModule) -> IRModule | None:
    """The module with its PrimFuncs alone; None where it has none."""
    kernels = {v: f for v, f in mod.functions.items() if isinstance(f, PrimFunc)}
    return mod.with_functions(kernels) if kernels else None


def _vmlink(
    builder: ExecBuilder,
    target: str | Target | None,
    tir_mod: IRModule | None = None,
    tir_pipeline: PipelineLike = "default",
    ext_libs: Sequence[Any] | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    system_lib: bool | None = None,
) -> VMExecutable:
    """An executable of a program and the kernels that it calls; TIR over registers is not kept."""
    made = builder.get()
    kernels = {
        v: f
        for v, f in (tir_mod.functions.items() if tir_mod is not None else ())
        if isinstance(f, PrimFunc) and not v.name_hint.startswith(MACHINE_PREFIX)
    }
    if not kernels or tir_mod is None:
        return made
    named = {v: f.with_attr("global_symbol", v.name_hint) for v, f in kernels.items()}
    chosen = Target("llvm") if target is None else Target(target)
    built = tir_build(tir_mod.with_functions(named), chosen, tir_pipeline)
    for library in ext_libs or ():
        built.import_module(library)
    return VMExecutable(VMModule(made.artefact, built, made.mod.constants))


class _Linker:
    """Puts kernels, native graphs and bytecode together."""

    def __init__(
        self, mod: IRModule, target: Target, tir_pipeline: PipelineLike, *, native: bool,
        held: Container[HostTensor] | None = None,
    ) -> None:  # fmt: skip
        self._mod = mod
        self._target = target
        self._tir_pipeline = tir_pipeline
        self._native = native
        self._held = held
        self._functions: dict[GlobalVar, BaseFunc] = {}
        self._kernels: dict[KernelCall, int] = {}
        self._profile_calls: dict[str, tuple[int, ...]] = {}
        self._profile_readings: dict[str, int] = {}
        self._infos: list[FunctionInfo] = []
        self._libraries: Any = mod.attrs.get("external_mods", ())
        self._named_constants: Any = mod.attrs.get("const_name_to_constant", {})
        self._variants = {
            v.name_hint: str(f.attrs[VARIANT_OF])
            for v, f in mod.functions.items()
            if isinstance(f, Function) and VARIANT_OF in f.attrs
        }
        # lowering gives every kernel a symbol; exported are those that had one
        self._given = {v: f for v, f in mod.functions.items() if isinstance(f, PrimFunc)}

    def link(self) -> VMExecutable:
        graphs, as_code = self._chosen()
        program = BytecodeProgram()
        if as_code:
            self._mod = lower_for_machine(self._mod, self._target)
            lowered = [self._mod.get_global_var(var.name_hint) for var in as_code]
            native = frozenset(self._profile_calls)
            program = compile_bytecode(self._mod, lowered, native=native)
            for var in as_code:
                self._note(var.name_hint, graphs[var])
            for name, sources in program.kernels:
                self._number(KernelCall(name, sources))
        self._add_kernels(program)
        tir_mod = self._mod.with_functions(self._functions)
        kernels = no_kernels()
        host = makes_host_code(self._target)
        if self._functions:
            kernels = tir_build(tir_mod, self._target, self._tir_pipeline)
        artefact = Artefact(
            functions=tuple(self._infos),
            kernels=tuple(KernelInfo(k.name, k.sources) for k in self._kernels),
            profile_calls=self._profile_calls,
            profile_readings=self._profile_readings,
            bytecode=program.bytecode,
            exports=tuple(sorted(self._symbols())),
            tensors=program.tensor_infos(),
            kind=self._target.kind.name,
            entry="main" if any(i.name == "main" for i in self._infos) else None,
            variants=self._variants,
            launching=frozenset() if host else launching_only(self._functions),
        )
        _link_libraries(kernels, self._libraries, self._named_constants)
        constants: tuple[Tensor, ...] = tuple(from_host(c.numpy()) for c in program.tensors)
        return VMExecutable(VMModule(artefact, kernels, constants))

    def _chosen(self) -> tuple[dict[GlobalVar, Function], list[GlobalVar]]:
        """The graphs that are called from outside or by bytecode, and those that become bytecode.

        Native code has the private functions that it calls within it.
        """
        every = {v: f for v, f in self._mod.functions.items() if isinstance(f, Function)}
        for var, func in every.items():
            refuse_overwritten_constants(func, var.name_hint)
        if not self._native:
            return every, list(every)
        waiting = [v for v, f in every.items() if f.attrs.get("global_symbol") is not None]
        waiting = (waiting or list(every))[::-1]
        chosen: dict[GlobalVar, Function] = {}
        as_code: list[GlobalVar] = []
        while waiting:
            var = waiting.pop()
            if var in chosen:
                continue
            chosen[var] = every[var]
            if not self._try_native(var, every[var]):
                as_code.append(var)
                waiting += [v for v in called_functions(every[var]) if v in every]
        return chosen, as_code

    @property
    def is_native(self) -> bool:
        """True when some function became native code."""
        return bool(self._profile_calls)

    def _number(self, call: KernelCall) -> int:
        return self._kernels.setdefault(call, len(self._kernels))

    def _try_native(self, var: GlobalVar, func: Function) -> bool:
        if not self._native:
            return False
        try:
            triple = str(self._target.attrs.get("mtriple", ""))
            graph = native_graph(self._mod, var, profile=True, held=self._held, triple=triple)
        except NotNative as reason:
            _LOG.info("%s runs as bytecode: %s", var.name_hint, reason)
            return False
        self._functions.update(graph.functions)
        self._profile_calls[var.name_hint] = tuple(self._number(c) for c in graph.calls)
        if graph.readings:
            self._profile_readings[var.name_hint] = graph.readings
        self._note(var.name_hint, func)
        return True

    def _note(self, name: str, func: Function) -> None:
        self._infos.append(_function_info(name, func, result_names(self._mod, name)))

    def _add_kernels(self, program: BytecodeProgram) -> None:
        """The PrimFuncs that something calls; those that bytecode calls get a symbol."""
        kernels = {v: f for v, f in self._mod.functions.items() if isinstance(f, PrimFunc)}
        by_name = {var.name_hint: var for var in kernels}
        for name in program.called:
            var = by_name.get(name)
            if var is not None:
                self._functions[var] = kernels[var].with_attr("global_symbol", name)
        for var, func in self._given.items():
            if func.attrs.get("global_symbol") is not None:
                self._functions.setdefault(var, func.with_attr("global_symbol", var.name_hint))
        mod = self._mod.with_functions({**kernels, **self._functions})
        used = remove_unused_functions(mod, list(self._functions))
        for var, reached in used.functions.items():
            self._functions.setdefault(var, reached)

    def _symbols(self) -> list[str]:
        symbols = [f.attrs.get("global_symbol") for f in self._functions.values()]
        return [str(symbol) for symbol in symbols if symbol is not None]


def _link_libraries(
    kernels: Module, libraries: Sequence[Module], constants: Mapping[str, Any]
) -> None:
    """Let kernels call what came compiled; a library that asks for constants by name gets them."""
    for library in libraries:
        kernels.import_module(library)
        if library.implements_function("get_const_vars"):
            names = [str(name) for name in library.get_function("get_const_vars")()]
            if not names:
                continue
            symbol = str(library.get_function("get_symbol")())
            library.get_function(f"__init_{symbol}")([constants[name] for name in names])


def _shape(info: TensorStructInfo) -> tuple[int | str, ...]:
    if not isinstance(info.shape, ShapeExpr):
        return tuple("?" for _ in range(max(info.ndim, 0)))
    return tuple(
        extent.value if isinstance(extent, IntImm) else str(extent)
        for extent in info.shape.values
    )


def _values(name: str, info: StructInfo | None) -> list[ValueInfo]:
    if isinstance(info, TensorStructInfo):
        return [ValueInfo(name, _shape(info), str(info.dtype))]
    if isinstance(info, TupleStructInfo):
        several = len(info.fields) > 1
        return [
            value
            for i, field in enumerate(info.fields)
            for value in _values(f"{name}_{i}" if several else name, field)
        ]
    if isinstance(info, ShapeStructInfo):
        return [ValueInfo(name, (max(info.ndim, 0),), "shape")]
    if isinstance(info, PrimStructInfo):
        return [ValueInfo(name, (), str(info.dtype))]
    return [ValueInfo(name, (), "object")]


def _function_info(name: str, func: Function, given: Sequence[str]) -> FunctionInfo:
    """How a function is called; `given` are the names of its results, where they are noted."""
    params = [v for p in func.params for v in _values(p.name_hint, p.struct_info_)]
    results = _values("output", func.ret_struct_info)
    if len(given) == len(results):
        results = [ValueInfo(n, v.shape, v.dtype) for n, v in zip(given, results)]
    return FunctionInfo(name, tuple(params), tuple(results))


__all__ = ["VMExecutable", "build"]
