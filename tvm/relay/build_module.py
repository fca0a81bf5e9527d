"""Build Relay for a target, and make executors.

    lib = relay.build(mod, target="llvm", params=params)
    runner = graph_executor.GraphModule(lib["default"](tvm.cpu()))
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from tvm.error import DTypeError, TVMError, message
from tvm.ir.module import IRModule
from tvm.ir.transform import Sequential
from tvm.relay.backend.compiled import (
    CompiledExecutor,
    StaticExecutor,
    as_module,
    bind_params_by_name,
    compile_module,
    target_of,
)
from tvm.relay.backend.constants_apart import constants_apart
from tvm.relay.backend.executor import Executor
from tvm.relay.backend.executor_factory import (
    AOTExecutorFactoryModule,
    ExecutorFactoryModule,
    GraphExecutorFactoryModule,
)
from tvm.relay.backend.function_info import FunctionMetadata, function_metadata
from tvm.relay.backend.graph_runtime import graph_json
from tvm.relay.backend.runtime import Runtime
from tvm.relay.backend.vm import VMExecutor
from tvm.relay.function import Function
from tvm.runtime import cpu
from tvm.runtime.artefact import GraphInfo
from tvm.runtime.graph_runtime import constant_digest

__all__ = [
    "AotExecutor", "BuildModule", "Executor", "GraphExecutor", "Runtime", "bind_params_by_name",
    "build", "create_executor", "optimize",
]  # fmt: skip


def build(
    ir_mod: IRModule | Function,
    target: Any = None,
    target_host: Any = None,
    executor: Executor = Executor("graph"),  # noqa: B008  a plain value, never changed
    runtime: Runtime = Runtime("cpp"),  # noqa: B008  a plain value, never changed
    workspace_memory_pools: Any = None,
    constant_memory_pools: Any = None,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
) -> ExecutorFactoryModule:
    """Compile a module; parameters become constants of the code."""
    if not isinstance(ir_mod, (IRModule, Function)):
        raise ValueError("Type of input parameter mod must be tvm.IRModule")
    if isinstance(ir_mod, Function):
        warnings.warn(
            "Please use input parameter mod (tvm.IRModule) instead of deprecated parameter mod "
            "(tvm.relay.function.Function)", DeprecationWarning, stacklevel=2,
        )  # fmt: skip
    from tvm.relay.transform import DefuseOps, FuseOps, InferType

    for asked, kind in ((executor, Executor), (runtime, Runtime)):
        if not isinstance(asked, kind):
            raise DTypeError(
                message(
                    f"relay.build: the {kind.__name__.lower()}", found=repr(asked),
                    legal=f"relay.backend.{kind.__name__}(name, options)",
                )
            )  # fmt: skip
    _check_interface(executor, runtime)
    mod = InferType()(as_module(ir_mod, params))
    with target_of(target):
        optimized = graph_passes()(mod)
        library = compile_module(optimized, target)
    goal, given, bare = target_of(target), dict(params or {}), as_module(ir_mod)
    made: ExecutorFactoryModule
    if executor.name == "aot":
        graph = ""
        noted = FunctionMetadata(lambda: function_metadata(
            _main(InferType()(FuseOps()(optimized))), mod_name, goal, ahead=True
        ))  # fmt: skip
        made = AOTExecutorFactoryModule(
            mod, {}, goal, executor, runtime, library, mod_name, given, noted, None, []
        )
    else:
        fused, given = InferType()(FuseOps()(optimized)), {}
        whole = _main(fused)
        if not executor.options.get("link-params"):
            fused = fused.clone()
            fused["main"], given = constants_apart(_main(fused))
            fused = InferType()(fused)
        kernels = _main(fused)
        graph = graph_json(kernels, mod_name, late=given)
        bare = DefuseOps()(fused)
        noted = FunctionMetadata(lambda: function_metadata(whole, mod_name, goal))
        made = GraphExecutorFactoryModule(
            mod, goal, executor, graph, library, mod_name, given, noted
        )
        made.kernels = kernels
    bound = {name: constant_digest(value) for name, value in given.items()}
    info = GraphInfo(mod_name, executor.name, graph, bound)
    library.mod.artefact = replace(library.mod.artefact, graph=info)  # exported with it
    made.rebuild = partial(
        build, bare, goal, executor=executor, runtime=runtime, mod_name=mod_name
    )
    return made


def _main(mod: IRModule) -> Function:
    main = mod["main"]
    assert isinstance(main, Function), "main is a function of Relay"
    return main


def _check_interface(executor: Executor, runtime: Runtime) -> None:
    """Refuse ways to call a program compiled ahead that its runtime does not have."""
    if executor.name != "aot":
        return
    options = executor.options
    api, unpacked = options.get("interface-api", "packed"), int(options.get("unpacked-api", 0))
    if runtime.name == "crt" and not (api == "packed" or unpacked):
        raise TVMError(
            f'Either need interface_api == "packed" (got: {api}) or unpacked-api == true '
            f"(got: {unpacked}) when targeting c runtime"
        )
    if runtime.name == "cpp" and (api != "packed" or unpacked):
        raise TVMError(
            f'Need unpacked-api == false (got: {unpacked}) and interface-api == "packed" '
            f"(got: {api}) when targeting c++ runtime"
        )


def optimize(
    mod: IRModule | Function, target: Any = None, params: Mapping[str, Any] | None = None
) -> tuple[IRModule, dict[str, Any]]:
    """The module after the passes that do not depend on kernels, its operators in groups.

    Parameters are constants of it: none are left.
    """
    from tvm.relay import transform as t

    with target_of(target):
        made = graph_passes(by_target=True)(as_module(mod, params))
        return Sequential([t.FuseOps(), t.InferType(), t.LabelOps()])(made), {}


def graph_passes(by_target: bool = False) -> Sequential:
    """What is done to a graph before it is compiled; the optimization level leaves some out.

    With `by_target` operators take the layouts that v0.18 gives them for the target; what is
    compiled leaves layouts to Relax.
    """
    from tvm.relay import qnn
    from tvm.relay import transform as t
    from tvm.relay.transform.alter_layout import AlterOpLayoutByUsers

    return Sequential([
        t.InferType(),
        qnn.transform.Legalize(),  # while the quantized operators are still there
        qnn.transform.CanonicalizeOps(),
        t.SimplifyInference(),  # normalisation becomes factors, which are folded below
        t.EliminateCommonSubexpr(),
        t.CombineParallelConv2D(3),
        t.CombineParallelDense(3),
        t.CombineParallelBatchMatmul(3),
        t.FoldConstant(),  # factors must be constants to pass a ReLU
        t.FoldScaleAxis(),
        t.SimplifyExpr(),
        t.CanonicalizeOps(),
        t.AlterOpLayout() if by_target else AlterOpLayoutByUsers(),
        t.FastMath(),
        t.FoldConstant(),  # weights with their factors and layouts
        t.DeadCodeElimination(),
        t.InferType(),
    ])  # fmt: skip


class BuildModule:
    """Builds in one call and keeps the parts for questions."""

    def __init__(self) -> None:
        self._built: ExecutorFactoryModule | None = None
        self._params: dict[str, Any] = {}

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Parameters by name for the builds that follow."""
        self._params = dict(params)

    def build(
        self,
        mod: IRModule,
        target: Any = None,
        target_host: Any = None,
        executor: Executor = Executor("graph"),  # noqa: B008  a plain value, never changed
        runtime: Runtime = Runtime("cpp"),  # noqa: B008  a plain value, never changed
        workspace_memory_pools: Any = None,
        constant_memory_pools: Any = None,
        params: Mapping[str, Any] | None = None,
        mod_name: str | None = None,
    ) -> tuple[Any, Any, dict[str, Any]]:
        """Compile a module: graph, library, parameters."""
        self._built = build(
            mod, target, target_host, executor, runtime, params={**self._params, **(params or {})},
            mod_name=mod_name or "default",
        )  # fmt: skip
        return self._built.get_executor_config(), self._built, self._built.params

    @property
    def _made(self) -> ExecutorFactoryModule:
        if self._built is None:
            raise RuntimeError("BuildModule: nothing is built yet; call build(mod, target) first")
        return self._built

    def optimize(
        self,
        mod: IRModule,
        target: Any = None,
        target_host: Any = None,
        params: Mapping[str, Any] | None = None,
    ) -> tuple[IRModule, dict[str, Any]]:
        """As the function of this name."""
        return optimize(mod, target, params)

    def get_graph_json(self) -> str:
        """The graph of what was built."""
        return str(self._made.get_executor_config())

    def get_module(self) -> Any:
        """The library that was built."""
        return self._made

    def get_function_metadata(self) -> Mapping[str, Any]:
        """What is noted of the built functions."""
        return self._made.function_metadata

    def get_executor_codegen_metadata(self) -> Any:
        """What an executor compiled ahead is told: nothing."""
        return getattr(self._made, "executor_codegen_metadata", None)

    def get_devices(self) -> list[str]:
        """The devices that the built module names."""
        return self._made.get_devices()

    def get_params(self) -> dict[str, Any]:
        """The parameters of what was built."""
        return self._made.params

    def get_irmodule(self) -> IRModule:
        """The module that was built, with types."""
        return self._made.ir_mod


class GraphExecutor(StaticExecutor):
    """Runs functions of tensors."""

    WORDS = "Graph Executor"


class AotExecutor(StaticExecutor):
    """Runs functions of tensors, compiled ahead."""

    WORDS = "AOT Executor"


_KINDS = {"graph": GraphExecutor, "vm": VMExecutor, "aot": AotExecutor, "debug": CompiledExecutor}


def create_executor(
    kind: str = "debug",
    mod: IRModule | Function | None = None,
    device: Any = None,
    target: Any = "llvm",
    params: Mapping[str, Any] | None = None,
) -> Any:
    """An executor whose `evaluate()` gives a Python function; "debug", "graph", "vm" or "aot"."""
    if kind not in _KINDS:
        raise RuntimeError(f"unknown execution strategy: {kind}; legal: {', '.join(_KINDS)}")
    made = IRModule() if mod is None else as_module(mod, params)
    return _KINDS[kind](made, cpu() if device is None else device, target)


