"""Schedule each PrimFunc after a few tries: the first that compile, or the fastest of them.

    FewShotTuning(valid_count=1)(mod)                  any schedule of the default space that builds
    FewShotTuning(valid_count=4, benchmark=True)(mod)  the fastest of four

The target is that of the context. What was scheduled has the attribute `tir.is_scheduled`;
functions that have it, and those of symbolic shapes, are left alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.error import message
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.transform.meta_schedule import SCHEDULED, current_target, with_schedule_of
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.support.log import logger
from tvm.target.target import Target
from tvm.tir.expr import IntImm
from tvm.tir.function import PrimFunc

if TYPE_CHECKING:
    from tvm.meta_schedule.runner import Runner
    from tvm.meta_schedule.search_strategy import MeasureCandidate
    from tvm.meta_schedule.tune_context import TuneContext

_LOG = logger("relax.FewShotTuning")
_MAX_FAILURES = 100


@relax_module_pass("FewShotTuning")
def FewShotTuning(
    mod: IRModule, ctx: PassContext, valid_count: int = 1, benchmark: bool = False
) -> IRModule:
    """Give each PrimFunc a schedule of the default space."""
    if valid_count <= 0:
        raise ValueError(
            message("FewShotTuning", found=f"valid_count={valid_count}", legal="1 or more")
        )
    target = current_target("FewShotTuning")
    functions: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        functions[var] = func
        if isinstance(func, PrimFunc) and not func.attrs.get(SCHEDULED) and _is_static(func):
            functions[var] = _tuned(func, var.name_hint, target, valid_count, benchmark)
    return mod.with_functions(functions)


def _is_static(func: PrimFunc) -> bool:
    shapes: list[PrimExpr] = [d for b in func.buffer_map.values() for d in b.shape]
    return all(isinstance(extent, IntImm) for extent in shapes)


def _tuned(
    func: PrimFunc, name: str, target: Target, valid_count: int, benchmark: bool
) -> PrimFunc:
    from tvm.meta_schedule.search_context import normalize_mod
    from tvm.meta_schedule.tune_context import TuneContext

    context = TuneContext(
        normalize_mod(func),
        target=target,
        space_generator="post-order-apply",
        search_strategy="replay-trace",
        task_name=name,
    )
    context.pre_tuning(max_trials=valid_count + _MAX_FAILURES, num_trials_per_iter=valid_count)
    try:
        best = _best(context, target, valid_count, benchmark)
    finally:
        context.post_tuning()
    if best is None:
        _LOG.warning("FewShotTuning: no valid schedule found for %s", name)
        return func
    return with_schedule_of(func, best.sch.mod)


def _best(
    context: TuneContext, target: Target, valid_count: int, benchmark: bool
) -> MeasureCandidate | None:
    """The first candidate that builds; with `benchmark` the fastest of `valid_count` that do."""
    from tvm.meta_schedule.builder import BuilderInput, LocalBuilder
    from tvm.meta_schedule.runner import LocalRunner
    from tvm.meta_schedule.utils import remove_build_dir

    builder, runner = LocalBuilder(), LocalRunner() if benchmark else None
    timed: list[tuple[float, MeasureCandidate]] = []
    failures = 0
    while len(timed) < valid_count and failures < _MAX_FAILURES:
        candidates = context.generate_measure_candidates()
        if not candidates:
            break
        results = builder.build([BuilderInput(c.sch.mod, target) for c in candidates])
        for candidate, built in zip(candidates, results):
            if built.artifact_path is None:
                failures += 1
                continue
            timed.append((_seconds(runner, built.artifact_path, target, candidate), candidate))
            remove_build_dir(built.artifact_path)
        context.notify_runner_results(candidates, [])
    return min(timed, key=lambda pair: pair[0])[1] if timed else None


def _seconds(
    runner: Runner | None, path: str, target: Target, candidate: MeasureCandidate
) -> float:
    """How long a candidate takes; without a runner all are as fast."""
    from tvm.meta_schedule.runner import RunnerInput

    if runner is None:
        return 0.0
    (future,) = runner.run([RunnerInput(path, target.kind.name, candidate.args_info)])
    run_secs = future.result().run_secs
    return min(run_secs) if run_secs else float("inf")
