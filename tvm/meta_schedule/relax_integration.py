"""Search for the kernels of a Relax module, and compile it with what was found.

    mod = relax.get_pipeline("zero")(mod)                    # operators become kernels
    database = tune_relax(mod, {}, target, work_dir, max_trials_global=1000)
    executable = compile_relax(database, mod, target, {})
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from tvm.ffi import register_global_func
from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.analysis import post_order_visit
from tvm.relax.expr import Call, Function
from tvm.relax.transform import BindParams, MetaScheduleApplyDatabase
from tvm.relax.vm_build import build as relax_build
from tvm.runtime import Tensor
from tvm.runtime.vm_executable import VMExecutable
from tvm.target.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk
from tvm.tir.stmt import Block

from .database import Database
from .extracted_task import ExtractedTask
from .logging import get_loggers_from_work_dir
from .module_equality import ModuleEquality
from .search_context import normalize_mod
from .tune import tune_tasks
from .tune_context import TuneContext
from .utils import fork_seed

# --- tasks ---


def extract_tasks(
    mod: IRModule | Function,
    target: Target | str,
    params: Mapping[str, Tensor] | None = None,
    module_equality: str = "structural",
) -> list[ExtractedTask]:
    """The kernels that the graphs of a module call, equal ones once, in the order of the calls."""
    if isinstance(mod, Function):
        mod = IRModule({"main": mod})
    if params:
        mod = BindParams("main", dict(params))(mod)
    if not isinstance(target, Target):
        target = Target(target)
    found = _Tasks(target, module_equality)
    kernels = {v.name_hint: f for v, f in mod.functions.items() if isinstance(f, PrimFunc)}
    for _, func in mod.functions_items():
        if isinstance(func, Function):
            for name in _called_kernels(func):
                if name in kernels:
                    found.add(name, kernels[name])
    return found.items


def _called_kernels(func: Function) -> list[str]:
    """The names of all callees, each as often as it is called."""
    call_tir = Op.get("relax.call_tir")
    found: list[str] = []

    def visit(node: object) -> None:
        if isinstance(node, Call) and node.op is call_tir and isinstance(node.args[0], GlobalVar):
            found.append(node.args[0].name_hint)

    post_order_visit(func, visit)
    return found


class _Tasks:
    """Tasks so far, found by the equality of their modules."""

    def __init__(self, target: Target, module_equality: str) -> None:
        self.items: list[ExtractedTask] = []
        self._target = target
        self._equality = ModuleEquality.create(module_equality)
        self._by_hash: dict[int, list[int]] = {}

    def add(self, name: str, kernel: PrimFunc) -> None:
        """Count a call of a kernel."""
        mod = normalize_mod(kernel)
        numbers = self._by_hash.setdefault(self._equality.hash(mod), [])
        for at in numbers:
            known = self.items[at]
            if self._equality.equal(known.dispatched[0], mod):
                # of kernels that share only their anchor, the one with the fewest other blocks
                # is measured: its time is the anchor's
                if _block_count(mod) < _block_count(known.dispatched[0]):
                    known.task_name, known.mod, known.dispatched = name, mod, [mod]
                known.weight += 1
                return
        numbers.append(len(self.items))
        self.items.append(ExtractedTask(name, mod, self._target, [mod], 1))


def _block_count(mod: IRModule) -> int:
    func = mod["main"]
    assert isinstance(func, PrimFunc), "a kernel"
    return sum(isinstance(node, Block) for node in walk(func.body))


def extracted_tasks_to_tune_contexts(
    extracted_tasks: Sequence[ExtractedTask],
    work_dir: str,
    space: Any = "post-order-apply",
    strategy: Any = "evolutionary",
    num_threads: Literal["physical", "logical"] | int = "physical",
    seed: int | None = None,
) -> tuple[list[TuneContext], list[float]]:
    """A search for each task, and the weights of the tasks."""
    loggers = get_loggers_from_work_dir(work_dir, [task.task_name for task in extracted_tasks])
    seeds = fork_seed(seed, len(extracted_tasks))
    contexts = [
        TuneContext(
            task.dispatched[0],
            target=task.target,
            space_generator=space,
            search_strategy=strategy,
            task_name=task.task_name,
            rand_state=own_seed,
            num_threads=num_threads,
            logger=own_logger,
        ).clone()
        for task, own_seed, own_logger in zip(extracted_tasks, seeds, loggers)
    ]
    return contexts, [float(task.weight) for task in extracted_tasks]


# --- tuning ---


def tune_relax(
    mod: IRModule | Function,
    params: Mapping[str, Tensor],
    target: str | Target,
    work_dir: str,
    max_trials_global: int,
    max_trials_per_task: int | None = None,
    op_names: Sequence[str] | None = None,
    *,
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
    max_seconds_global: float | None = None,
) -> Database:
    """Tune the kernels that a module calls; with `op_names` those whose name has one of them."""
    tasks = extract_tasks(mod, target, params, module_equality)
    if op_names:
        tasks = [task for task in tasks if any(name in task.task_name for name in op_names)]
    contexts, weights = extracted_tasks_to_tune_contexts(
        tasks, work_dir, space=space, strategy=strategy, seed=seed
    )
    return tune_tasks(
        tasks=contexts,
        task_weights=weights,
        work_dir=work_dir,
        max_trials_global=max_trials_global,
        max_trials_per_task=max_trials_per_task,
        num_trials_per_iter=num_trials_per_iter,
        builder=builder,
        runner=runner,
        database=database,
        cost_model=cost_model,
        measure_callbacks=measure_callbacks,
        task_scheduler=task_scheduler,
        module_equality=module_equality,
        max_seconds_global=max_seconds_global,
    )


@register_global_func("tvm.meta_schedule.tune_relax", override=True)
def _tune_relax(
    mod: IRModule | Function,
    params: Mapping[str, Tensor],
    target: str | Target,
    work_dir: str,
    max_trials_global: int,
    max_trials_per_task: int | None = None,
    op_names: Sequence[str] | None = None,
) -> Database:
    """`tune_relax` as the pass MetaScheduleTuneIRMod calls it, by its name."""
    return tune_relax(
        mod, params, target, work_dir, max_trials_global, max_trials_per_task, op_names
    )


# --- compiling ---


def compile_relax(
    database: Database,
    mod: IRModule,
    target: Target | str,
    params: Mapping[str, Tensor] | None,
    enable_warning: bool = False,
) -> VMExecutable:
    """The module with the best known schedule of each kernel, compiled."""
    if not isinstance(target, Target):
        target = Target(target)
    if params:
        mod = BindParams("main", dict(params))(mod)
    with target, database, PassContext(opt_level=3):
        scheduled = MetaScheduleApplyDatabase(enable_warning=enable_warning)(mod)
        return relax_build(scheduled, target=target)
