"""Make all functions of training from a network: loss, gradients and optimizer."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.error import TVMError, message
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, module_pass
from tvm.relax.analysis import well_formed
from tvm.relax.expr import Function, Var
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform import (
    DecomposeOpsForInference,
    DecomposeOpsForTraining,
    Gradient,
    LegalizeOps,
)
from tvm.tir.expr import IntImm

from .append_loss import AppendLoss
from .loss import Loss
from .optimizer import Optimizer


class TrainingNames:
    """Names by which `Trainer` finds what `SetupTrainer` writes."""

    BACKBONE_FUNC: str = "backbone"
    BACKBONE_LOSS_FUNC: str = "backbone_loss"
    ADJOINT_FUNC: str = "backbone_loss_adjoint"
    OPTIMIZER_FUNC: str = "optimizer"
    PARAM_NUM_ATTR_KEY: str = "param_num"
    STATE_NUM_ATTR_KEY: str = "state_num"


class SetupError(TVMError, ValueError):
    """A module that no functions of training can be made of."""


@module_pass(opt_level=0, name="SetupTrainer")
class SetupTrainer(TrainingNames):
    """From a module with `backbone` to one that `Trainer` runs.

    `backbone(inputs..., parameters..., states...)` is one dataflow block and returns its results
    and then the new states (of batch norms, say). The module's attributes `param_num` and
    `state_num` say how many parameters and states there are. The module gets

        backbone_loss            (inputs..., parameters..., states..., targets...): the loss, states
        backbone_loss_adjoint    the same, and the gradients of the parameters
        optimizer                (parameters, gradients, optimizer's states): new ones of both

    and the attributes `input_num` and `optim_state`. `loss_args` is the
    struct info of what the loss takes: results of the network, then targets. With `legalize`,
    operators become TIR.
    """

    def __init__(
        self,
        loss: Loss,
        optimizer: Optimizer,
        loss_args: Sequence[TensorStructInfo],
        legalize: bool = True,
    ) -> None:
        self._loss = loss
        self._optimizer = optimizer
        self._loss_args = loss_args
        self._legalize = legalize

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """The module with all functions of training."""
        func, params, states = self._network(mod)
        loss = self._loss(*self._loss_args)
        mod = AppendLoss(
            self.BACKBONE_FUNC, loss, self._loss.num_backbone_outputs, self.BACKBONE_LOSS_FUNC
        )(mod)
        # A name is an expression that `backbone_loss` begins with, too: end it.
        mod = DecomposeOpsForInference(f"{self.BACKBONE_FUNC}$")(mod)
        mod = DecomposeOpsForTraining(f"{self.BACKBONE_LOSS_FUNC}$")(mod)
        inputs = len(func.params) - params - states
        with_loss = mod[self.BACKBONE_LOSS_FUNC]
        assert isinstance(with_loss, Function), "AppendLoss has made it"
        trained = list(with_loss.params[inputs : inputs + params])
        mod = Gradient(self.BACKBONE_LOSS_FUNC, require_grads=trained)(mod)
        mod = mod.clone()
        mod[self.OPTIMIZER_FUNC] = self._optimizer_for(trained)
        mod = mod.with_attrs({"input_num": inputs, "optim_state": self._optimizer.state})
        return LegalizeOps()(mod) if self._legalize else mod

    def _optimizer_for(self, trained: list[Var]) -> Function:
        func = self._optimizer.init(trained).get_function()
        return func.with_attr("global_symbol", self.OPTIMIZER_FUNC)

    def _network(self, mod: IRModule) -> tuple[Function, int, int]:
        """The network, and how many parameters and states it has."""
        if not well_formed(mod):
            raise SetupError("SetupTrainer: the module is not well formed")
        name = self.BACKBONE_FUNC
        func = next((f for var, f in mod.functions.items() if var.name_hint == name), None)
        if not isinstance(func, Function):
            names = ", ".join(var.name_hint for var in mod.functions)
            raise SetupError(
                message(f"SetupTrainer: there is no Relax function {name!r}", found=names,
                        legal=f"the network, as the function {name!r}")
            )  # fmt: skip
        keys = (self.PARAM_NUM_ATTR_KEY, self.STATE_NUM_ATTR_KEY)
        params, states = (self._count(mod, key) for key in keys)
        if min(params, states) < 0 or params + states > len(func.params):
            raise SetupError(
                message(f"SetupTrainer: {params} parameters and {states} states of {name!r}",
                        found=f"{len(func.params)} parameters of the function",
                        legal="as many, or fewer")
            )  # fmt: skip
        return func, params, states

    def _count(self, mod: IRModule, key: str) -> int:
        attrs = mod.attrs
        found = None if attrs is None else attrs.get(key)
        if not isinstance(found, (int, IntImm)):
            known = "none" if attrs is None else ", ".join(attrs.keys()) or "none"
            raise SetupError(
                message(f"SetupTrainer: the module has no number {key!r}",
                        found=f"attributes {known}",
                        legal=f'I.module_attrs({{"{key}": 0}}), or how many there are')
            )  # fmt: skip
        return int(found)
