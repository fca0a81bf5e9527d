"""The four lists of a backend as one pass, and the two lists that all targets share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tvm.ir.module import IRModule
from tvm.ir.transform import ModulePass, Pass, PassContext, PassInfo, Sequential
from tvm.relax import transform as t
from tvm.relax.expr import Function
from tvm.relax.transform.vm_shape_lower import is_lowered
from tvm.target.target import Target

Passes = Callable[[Target], list[Pass]]


class PassLists(Protocol):
    """What a backend says of graphs: a module with these four functions, in the order of use."""

    library_dispatch_passes: Passes  # choose kernels by the target, hand parts to libraries
    legalize_passes: Passes  # from operators to scheduled kernels
    dataflow_lower_passes: Passes  # from dataflow to calls whose results are made before
    finalize_passes: Passes  # from there to what the virtual machine runs


class DefaultPipeline(ModulePass):
    """All passes of a backend for a target; `graph` runs those that leave a graph of kernels."""

    def __init__(self, target: Target, lists: PassLists) -> None:
        self._target = target
        self._lists = lists
        super().__init__(self._run, PassInfo(0, "relax.default_pipeline"))

    def graph(self, mod: IRModule) -> IRModule:
        """Library dispatch and legalization: what native code is made of."""
        with self._target:
            for passes in (self._lists.library_dispatch_passes, self._lists.legalize_passes):
                mod = Sequential(passes(self._target))(mod)
        return mod

    def lower(self, mod: IRModule) -> IRModule:
        """The module with its graphs lowered to what the virtual machine runs.

        Functions that were lowered before stay as they are.
        """
        done = {v: f for v, f in mod.functions.items() if isinstance(f, Function) and is_lowered(f)}
        target = self._target
        passes = [
            *self._lists.dataflow_lower_passes(target),
            *self._lists.finalize_passes(target),
        ]
        with target:
            if not done:
                return Sequential(passes)(mod)
            rest = {v: f for v, f in mod.functions.items() if v not in done}
            lowered = Sequential(passes)(mod.with_functions(rest))
        return lowered.with_functions({**lowered.functions, **done})

    def _run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return self.lower(self.graph(mod))


def dataflow_lower_passes(target: Target) -> list[Pass]:
    """From dataflow to sequences of calls in which every tensor is made before it is written."""
    return [
        t.RewriteDataflowReshape(),  # kernels that only copy become views
        t.ToNonDataflow(),  # from here on order counts
        t.RemovePurityChecking(),  # what follows writes into tensors
        t.CallTIRRewrite(),  # allocate, call, read
    ]


def finalize_passes(target: Target) -> list[Pass]:
    """From there to what the virtual machine runs."""
    return [
        t.StaticPlanBlockMemory(),  # tensors share storage
        t.LowerAllocTensor(),  # those that no plan covers get storage of their own
        t.KillAfterLastUse(),  # memory goes as early as it can
        t.LowerRuntimeBuiltin(),  # operators that are functions of the machine
        t.ComputePrimValue(),  # numbers computed from symbols
        t.VMShapeLower(),  # symbols live in a heap of numbers; arguments are checked
        t.AttachGlobalSymbol(),  # functions are called by name from here on
    ]
