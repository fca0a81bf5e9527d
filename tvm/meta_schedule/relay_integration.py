"""Search for the kernels of a Relay module, and compile it with what was found.

    database = tune_relay(mod, params, target, work_dir, max_trials_global=1000)
    lib = compile_relay(database, mod, target, params)

The kernels are those of the Relax module that `relay.build` compiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import MappingProxyType
from typing import Any, Final, Literal

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relay import vm as relay_vm
from tvm.relay.backend.compiled import USE_DATABASE, as_module, kernels_of, target_of
from tvm.relay.backend.executor import Executor
from tvm.relay.backend.runtime import Runtime
from tvm.relay.build_module import build, graph_passes
from tvm.relay.function import Function
from tvm.runtime import Tensor
from tvm.target.target import Target

from . import relax_integration
from .database import Database
from .extracted_task import ExtractedTask
from .relax_integration import (
    extracted_tasks_to_tune_contexts as extracted_tasks_to_tune_contexts,
)
from .tune import tune_tasks

_CONFIG: Final = MappingProxyType({USE_DATABASE: True, "relay.backend.tir_converter": "default"})


def extract_tasks(
    mod: IRModule | Function,
    target: Target | str,
    params: Mapping[str, Tensor] | None,
    *,
    opt_level: int = 3,
    pass_config: Mapping[str, Any] = _CONFIG,
    executor: Executor | None = None,
    runtime: Runtime | None = None,
    module_equality: str = "structural",
    disabled_pass: Sequence[str] | None = None,
    instruments: Sequence[Any] | None = None,
) -> list[ExtractedTask]:
    """The kernels of a module, equal ones once, in the order of their calls.

    They are the same for all executors and runtimes.
    """
    goal = target_of(target)
    with goal, PassContext(
        opt_level=opt_level, config=dict(pass_config), disabled_pass=disabled_pass,
        instruments=instruments,
    ):  # fmt: skip
        kernels = kernels_of(graph_passes()(as_module(mod, params)))
    return relax_integration.extract_tasks(kernels, goal, module_equality=module_equality)


def tune_relay(
    mod: IRModule | Function,
    params: Mapping[str, Tensor] | None,
    target: str | Target,
    work_dir: str,
    max_trials_global: int,
    *,
    max_trials_per_task: int | None = None,
    num_trials_per_iter: int = 64,
    builder: Any = "local",
    runner: Any = "local",
    database: Any = "json",
    cost_model: Any = "xgb",
    measure_callbacks: Any = "default",
    task_scheduler: Any = "gradient",
    space: Any = "post-order-apply",
    strategy: Any = "evolutionary",
    seed: int | None = None,
    module_equality: str = "structural",
    num_tuning_cores: Literal["physical", "logical"] | int = "physical",
    opt_level: int = 3,
    disabled_pass: Sequence[str] | None = None,
    instruments: Sequence[Any] | None = None,
) -> Database:
    """Tune the kernels of a module; the database has the best schedules found."""
    tasks = extract_tasks(
        mod, target, params, opt_level=opt_level, module_equality=module_equality,
        disabled_pass=disabled_pass, instruments=instruments,
    )  # fmt: skip
    contexts, weights = extracted_tasks_to_tune_contexts(
        tasks, work_dir, space=space, strategy=strategy, num_threads=num_tuning_cores, seed=seed
    )
    return tune_tasks(
        tasks=contexts, task_weights=weights, work_dir=work_dir,
        max_trials_global=max_trials_global, max_trials_per_task=max_trials_per_task,
        num_trials_per_iter=num_trials_per_iter, builder=builder, runner=runner,
        database=database, cost_model=cost_model, measure_callbacks=measure_callbacks,
        task_scheduler=task_scheduler, module_equality=module_equality,
    )  # fmt: skip


def compile_relay(
    database: Database,
    mod: IRModule,
    target: Target | str,
    params: Mapping[str, Tensor] | None,
    *,
    backend: str = "graph",
    opt_level: int = 3,
    pass_config: Mapping[str, Any] = _CONFIG,
    executor: Executor | None = None,
    disabled_pass: Sequence[str] | None = None,
    runtime: Runtime | None = None,
    instruments: Sequence[Any] | None = None,
) -> Any:
    """The module with the best known schedule of each kernel, as `relay.build` gives it.

    `backend` is "graph", or "vm" for what `relay.vm.compile` gives.
    """
    if backend not in ("graph", "vm"):
        raise ValueError(f"compile_relay: backend {backend!r}; legal: 'graph', 'vm'")
    context = PassContext(
        opt_level=opt_level, config=dict(pass_config), disabled_pass=disabled_pass,
        instruments=instruments,
    )  # fmt: skip
    goal = target_of(target)
    with ExitStack() as scopes:
        for scope in (goal, database, context):
            scopes.enter_context(scope)
        if backend == "vm":
            return relay_vm.compile(mod, target=goal, params=dict(params or {}))
        return build(
            mod, target=goal, params=params, executor=executor or Executor("graph"),
            runtime=runtime or Runtime("cpp"),
        )  # fmt: skip


def is_meta_schedule_enabled() -> bool:
    """True where `relay.build` takes schedules from the database in force."""
    return bool(PassContext.current().config.get(USE_DATABASE, False))
