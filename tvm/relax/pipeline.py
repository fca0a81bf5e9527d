"""Pipelines for graphs: by target, by name, of one's own.

What compiles a graph for a target stands in that target's folder, as four lists of passes each with
its reason: `tvm.relax.backend.cuda`, `rocm`, `gpu_generic`, `cpu_generic`, `adreno`. The functions
here find the folder.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final

from tvm.backend import known_backend
from tvm.ir.module import IRModule
from tvm.ir.transform import (
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    declare_module_pass,
)
from tvm.relax import transform as t
from tvm.relax.backend.default_pipeline import DefaultPipeline, PassLists
from tvm.relax.op.for_programs import FOR_PROGRAMS
from tvm.support.arguments import explained
from tvm.support.suggest import did_you_mean
from tvm.target.target import Target


def library_dispatch_passes(target: Target) -> list[Pass]:
    """Passes that choose kernels by the target, and hand parts of the graph to libraries."""
    return _lists(target, "library dispatch passes").library_dispatch_passes(target)


def legalize_passes(target: Target) -> list[Pass]:
    """From operators to scheduled kernels."""
    return _lists(target, "legalization passes").legalize_passes(target)


def dataflow_lower_passes(target: Target) -> list[Pass]:
    """From dataflow to sequences of calls in which every tensor is made before it is written."""
    return _lists(target, "dataflow lowering passes").dataflow_lower_passes(target)


def finalize_passes(target: Target) -> list[Pass]:
    """From there to what the virtual machine runs."""
    return _lists(target, "finalization passes").finalize_passes(target)


@explained
def get_default_pipeline(target: Target) -> ModulePass:
    """All passes for a target, in order.

    A target without lists of its own gets those for any CPU or any GPU.
    """
    backend = known_backend(target.kind.name)
    if backend is None or not backend.compiles_graphs:
        raise ValueError(
            f"Target {target.kind} is not yet supported by default pipeline. "
            "Please lower and build the IRModule manually."
        )
    lists = importlib.import_module(_owner(target) or _generic(target))
    make = getattr(lists, "get_default_pipeline", None)
    pipeline: ModulePass = DefaultPipeline(target, lists) if make is None else make(target)
    return pipeline


def lower_for_machine(mod: IRModule, target: Target) -> IRModule:
    """The module with its graphs lowered to what the virtual machine runs."""
    owner = _owner(target) or _generic(target)
    return DefaultPipeline(target, importlib.import_module(owner)).lower(mod)


def _owner(target: Target) -> str | None:
    """The module that has lists for a target, by the record of its backend."""
    backend = known_backend(target.kind.name)
    return None if backend is None else backend.graph_passes_for(target)


def _generic(target: Target) -> str:
    """The module of lists for all targets of a sort: nobody has written any for this one."""
    return f"tvm.relax.backend.{'gpu' if 'gpu' in target.keys else 'cpu'}_generic"


def _lists(target: Target, what: str) -> PassLists:
    owner = _owner(target)
    if owner is None:
        raise ValueError(f"Target {target.kind} is not yet supported by {what}.")
    return importlib.import_module(owner)


@declare_module_pass("relax.default_build_pipeline")
def default_build_pipeline(mod: IRModule, ctx: PassContext) -> IRModule:
    """The default pipeline for the target of the context."""
    return get_default_pipeline(Target.current() or Target("llvm"))(mod)


@declare_module_pass("relax.zero_pipeline")
def zero_pipeline(mod: IRModule, ctx: PassContext, *, enable_warning: bool = False) -> IRModule:
    """Fuse and legalize, nothing that depends on a target."""
    passes: list[Pass] = [
        t.LegalizeOps(FOR_PROGRAMS, enable_warning),
        t.AnnotateTIROpPattern(),
        t.FoldConstant(),
        t.FuseOps(),
        t.FuseTIR(),
    ]
    return Sequential(passes)(mod)


def static_shape_tuning_pipeline(
    total_trials: int,
    target: str | Target,
    work_dir: str = "tuning_logs",
    cpu_weight_prepack: bool = False,
) -> ModulePass:
    """Tune the kernels of a model of fixed shapes, and take the best of what `work_dir` knows.

    `total_trials` are shared by all kernels; with 0 the records in `work_dir` are applied as they
    are. With `cpu_weight_prepack` weights may be laid out anew by a tuned kernel: that work becomes
    `<function>_transform_params`, which makes the weights that the function takes from then on.
    """
    target = target if isinstance(target, Target) else Target(target)
    passes: list[Pass] = [
        t.DecomposeOpsForInference(),
        t.CanonicalizeBindings(),
        zero_pipeline(),
    ]
    if cpu_weight_prepack:
        passes.append(t.AttachAttrLayoutFreeBuffers())
    if total_trials > 0:
        passes.append(t.MetaScheduleTuneIRMod({}, work_dir, total_trials))
    passes.append(t.MetaScheduleApplyDatabase(work_dir))
    if cpu_weight_prepack:
        passes += [t.SplitLayoutRewritePreproc(), t.LiftTransformParams(), t.FoldConstant()]

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        with target, PassContext(opt_level=3):
            return Sequential(passes)(mod)

    return ModulePass(run, PassInfo(0, "relax.static_shape_tuning_pipeline"))


PIPELINE_MAP: Final[dict[str, Callable[..., Any]]] = {
    "zero": zero_pipeline,
    "default": default_build_pipeline,
    "default_build": default_build_pipeline,
    "static_shape_tuning": static_shape_tuning_pipeline,
}


def get_pipeline(name: str = "zero", **kwargs: Any) -> Any:
    """The pipeline called `name`."""
    make = PIPELINE_MAP.get(name)
    if make is None:
        raise ValueError(
            f"Unknown pre-built pipeline {name!r}{did_you_mean(name, PIPELINE_MAP)}; "
            f"candidates are {sorted(PIPELINE_MAP)}"
        )
    return make(**kwargs)


def register_pipeline(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function that makes a pipeline; `get_pipeline(name)` finds it."""
    if name in PIPELINE_MAP:
        raise ValueError(f"Pipeline {name!r} has already been registered")

    def register(func: Callable[..., Any]) -> Callable[..., Any]:
        PIPELINE_MAP[name] = func
        return func

    return register
