"""The order in which passes compile a graph, each with its reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvm import dlight
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
from tvm.relax.backend.dispatch_sampling import DispatchSampling
from tvm.relax.backend.dispatch_sort_scan import DispatchSortScan
from tvm.relax.expr import Function
from tvm.relax.transform.attach_attr_layout_free_buffers import MarkConstantWeights
from tvm.relax.transform.batch_norm_as_scale import BatchNormAsScale
from tvm.relax.transform.conv_transpose_as_conv import ConvTransposeAsConv
from tvm.relax.transform.vm_shape_lower import is_lowered
from tvm.relax.transform.winograd_conv2d import WinogradConv2D
from tvm.support.suggest import did_you_mean
from tvm.target.target import Target

_CPU_KINDS: Final = ("llvm", "c")
_GPU_KINDS: Final = ("cuda", "rocm", "metal", "webgpu", "opencl", "vulkan")


def library_dispatch_passes(target: Target) -> list[Pass]:
    """Passes that choose kernels by the target, and hand parts of the graph to libraries."""
    _check_target(target, "library dispatch")
    if target.kind.name in _CPU_KINDS:
        return []
    found: list[Any] = [
        DispatchSampling(),  # draws
        DispatchSortScan(),  # sorts and running sums, of which a GPU needs other kernels
    ]
    return found


def legalize_passes(target: Target) -> list[Pass]:
    """From operators to scheduled kernels."""
    _check_target(target, "legalization")
    passes = [
        t.LambdaLift(),  # local functions are compiled as those of the module are
        t.FoldBatchnormToConv2D(keep_training=True),  # while operators are still known by name
        BatchNormAsScale(),  # batch norms left: a multiply, an add
        t.FoldConstant(),  # weights transposed, scaled, reshaped, once and for all
        *_cpu_graph_passes(target),
        t.LowerShapeToTensor(),  # sizes that are read as numbers become kernels
        t.LegalizeOps(),  # and so do operators
        t.AnnotateTIROpPattern(),  # what fusion goes by
        t.FoldConstant(),  # kernels of constants that had no operator form
        t.FuseOps(),  # groups of kernels that share a loop nest
        t.FuseTIR(),  # one kernel a group
        t.RewriteDataflowReshape(),  # after fusion, which may have made use of a reshape
        t.DeadCodeElimination(),  # kernels that were fused or folded away
    ]
    if target.kind.name in _CPU_KINDS:
        passes += [
            MarkConstantWeights(),  # operands of products that may lie as the kernel likes
            t.DeadCodeElimination(),  # kernels that are called with weights only
            dlight.ApplyDefaultSchedule(*dlight.cpu.default_rules()),
            t.SplitLayoutRewritePreproc(),  # what packs weights becomes a kernel of its own
            t.FoldConstant(),  # and packs them now
            t.DeadCodeElimination(),  # kernels that have packed
        ]
    else:
        passes.append(dlight.ApplyDefaultSchedule(*dlight.gpu.default_rules()))
    return passes


def _cpu_graph_passes(target: Target) -> list[Pass]:
    """Operators in the forms that are fastest on a CPU, once their weights are constants."""
    if target.kind.name not in _CPU_KINDS:
        return []
    return [ConvTransposeAsConv(), WinogradConv2D(target.cpu)]


def dataflow_lower_passes(target: Target) -> list[Pass]:
    """From dataflow to sequences of calls in which every tensor is made before it is written."""
    _check_target(target, "dataflow lowering")
    return [
        t.RewriteDataflowReshape(),  # kernels that only copy become views
        t.ToNonDataflow(),  # from here on order counts
        t.RemovePurityChecking(),  # what follows writes into tensors
        t.CallTIRRewrite(),  # allocate, call, read
    ]


def finalize_passes(target: Target) -> list[Pass]:
    """From there to what the virtual machine runs."""
    _check_target(target, "finalization")
    recorded = [t.RewriteCUDAGraph()] if target.kind.name == "cuda" else []
    return [
        t.StaticPlanBlockMemory(),  # tensors share storage
        *recorded,  # launches that repeat become graphs, where that is asked for
        t.LowerAllocTensor(),  # those that no plan covers get storage of their own
        t.KillAfterLastUse(),  # memory goes as early as it can
        t.LowerRuntimeBuiltin(),  # operators that are functions of the machine
        t.ComputePrimValue(),  # numbers computed from symbols
        t.VMShapeLower(),  # symbols live in a heap of numbers; arguments are checked
        t.AttachGlobalSymbol(),  # functions are called by name from here on
    ]


def lower_for_machine(mod: IRModule, target: Target) -> IRModule:
    """The module with its graphs lowered to what the virtual machine runs.

    Functions that were lowered before stay as they are.
    """
    done = {v: f for v, f in mod.functions.items() if isinstance(f, Function) and is_lowered(f)}
    passes = [*dataflow_lower_passes(target), *finalize_passes(target)]
    if not done:
        return Sequential(passes)(mod)
    rest = {v: f for v, f in mod.functions.items() if v not in done}
    lowered = Sequential(passes)(mod.with_functions(rest))
    return lowered.with_functions({**lowered.functions, **done})


def _check_target(target: Target, what: str) -> None:
    if target.kind.name not in (*_CPU_KINDS, *_GPU_KINDS):
        raise ValueError(f"Target {target} is not yet supported by {what} passes.")


class DefaultPipeline(ModulePass):
    """All passes for a target; `graph` are those that leave a graph of kernels."""

    def __init__(self, target: Target) -> None:
        self._target = target
        super().__init__(self._run, PassInfo(0, "relax.default_pipeline"))

    def graph(self, mod: IRModule) -> IRModule:
        """Library dispatch and legalization: what native code is made of."""
        with self._target:
            for passes in (library_dispatch_passes, legalize_passes):
                mod = Sequential(passes(self._target))(mod)
        return mod

    def _run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        with self._target:
            return lower_for_machine(self.graph(mod), self._target)


def get_default_pipeline(target: Target) -> ModulePass:
    """All of the passes above for a target."""
    return DefaultPipeline(target)


@declare_module_pass("relax.default_build_pipeline")
def default_build_pipeline(mod: IRModule, ctx: PassContext) -> IRModule:
    """The default pipeline for the target of the context."""
    return get_default_pipeline(Target.current() or Target("llvm"))(mod)


@declare_module_pass("relax.zero_pipeline")
def zero_pipeline(mod: IRModule, ctx: PassContext, *, enable_warning: bool = False) -> IRModule:
    """Fuse and legalize, nothing that depends on a target."""
    passes: list[Pass] = [
        t.LegalizeOps(enable_warning=enable_warning),
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


PIPELINES: Final[dict[str, Callable[..., Any]]] = {
    "zero": zero_pipeline,
    "default": default_build_pipeline,
    "default_build": default_build_pipeline,
    "static_shape_tuning": static_shape_tuning_pipeline,
}


def get_pipeline(name: str = "zero", **kwargs: Any) -> Any:
    """The pipeline called `name`."""
    make = PIPELINES.get(name)
    if make is None:
        raise ValueError(
            f"Unknown pre-built pipeline {name!r}{did_you_mean(name, PIPELINES)}; "
            f"candidates are {sorted(PIPELINES)}"
        )
    return make(**kwargs)


def register_pipeline(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function that makes a pipeline; `get_pipeline(name)` finds it."""
    if name in PIPELINES:
        raise ValueError(f"Pipeline {name!r} has already been registered")

    def register(func: Callable[..., Any]) -> Callable[..., Any]:
        PIPELINES[name] = func
        return func

    return register
