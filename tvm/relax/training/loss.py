"""Losses: functions that `AppendLoss` puts behind a network.

Calling a loss with the struct info of its parameters (or variables that bring it) makes the
function: `MSELoss()(predictions, targets)`. The last step is the reduction: `"mean"`, `"sum"`,
both to a tensor without dimensions, or `"none"`.
"""

from __future__ import annotations

from typing import Any, Literal

from tvm.error import message
from tvm.ir.expr import StructInfo
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Expr, Function, Var
from tvm.relax.struct_info import TensorStructInfo

Reduction = Literal["mean", "sum", "none"]


class Loss:
    """Base of losses; a subclass says in `__call__` what is computed.

    `num_backbone_outputs` is how many of the first parameters are results of the network.
    """

    def __init__(
        self, loss_name: str, num_backbone_outputs: int, reduction: Reduction = "mean"
    ) -> None:
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(
                message("Reduction of a loss", found=repr(reduction),
                        legal="'mean', 'sum' or 'none'")
            )  # fmt: skip
        self._loss_name = loss_name
        self._reduction = reduction
        self._num_backbone_outputs = num_backbone_outputs

    @property
    def num_backbone_outputs(self) -> int:
        """The number of results of the network that the loss takes."""
        return self._num_backbone_outputs

    def __call__(self, *args: Any) -> Function:
        """The function, for parameters of this struct info."""
        raise TypeError(f"{type(self).__name__} does not say how it is computed: define __call__")

    def _with_reduction(self, value: Expr) -> Expr:
        """The reduction of a value with one loss an element."""
        if self._reduction == "none":
            return value
        reduced: Expr = op.sum(value) if self._reduction == "sum" else op.mean(value)
        return reduced

    def _function(self, params: list[Var], body: Any) -> Function:
        """The function with the bindings that `body(bb)` emits; what it gives is the result."""
        bb = BlockBuilder()
        with bb.function(self._loss_name, params):
            with bb.dataflow():
                out = bb.emit_output(body(bb))
            var = bb.emit_func_output(out)
        made = bb.get()[var]
        assert isinstance(made, Function), "a function of Relax was built"
        return made.with_attr("global_symbol", self._loss_name)


def _param(name: str, info: Var | StructInfo) -> Var:
    """A new parameter: one made for a variable keeps its name."""
    return Var(info.name_hint, info.struct_info) if isinstance(info, Var) else Var(name, info)


class L1Loss(Loss):
    """|predictions - targets|, element by element."""

    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__("l1_loss", 1, reduction)

    def __call__(self, predictions: Var | StructInfo, targets: Var | StructInfo) -> Function:
        given, wanted = _param("predictions", predictions), _param("targets", targets)

        def body(bb: BlockBuilder) -> Expr:
            return self._with_reduction(op.abs(bb.emit(op.subtract(given, wanted))))

        return self._function([given, wanted], body)


class MSELoss(Loss):
    """(predictions - targets)^2, element by element."""

    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__("mse_loss", 1, reduction)

    def __call__(self, predictions: Var | StructInfo, targets: Var | StructInfo) -> Function:
        given, wanted = _param("predictions", predictions), _param("targets", targets)

        def body(bb: BlockBuilder) -> Expr:
            difference = bb.emit(op.subtract(given, wanted))
            return self._with_reduction(op.multiply(difference, difference))

        return self._function([given, wanted], body)


class CrossEntropyLoss(Loss):
    """Minus the logarithm of the softmax of predictions at each target class.

    Shapes: predictions (n, c, ...) or (c,) before the softmax; targets (n, ...) or (), integers;
    weights (c,), one for each class. Targets equal to `ignore_index` do not count.
    """

    ignore_index: int

    def __init__(self, reduction: Reduction = "mean", ignore_index: int = -100) -> None:
        super().__init__("cross_entropy_loss", 1, reduction)
        self.ignore_index = ignore_index

    def __call__(
        self,
        predictions: Var | StructInfo,
        targets: Var | StructInfo,
        weights: Var | StructInfo | None = None,
    ) -> Function:
        given, wanted = _param("predictions", predictions), _param("targets", targets)
        weight = None if weights is None else _param("weights", weights)
        info = given.struct_info
        # the classes stand behind the batch, or alone
        several = isinstance(info, TensorStructInfo) and info.ndim > 2
        axis = 1 if several else -1

        def body(bb: BlockBuilder) -> Expr:
            logits = bb.emit(op.nn.log_softmax(given, axis=axis))
            return op.nn.nll_loss(logits, wanted, weight, self._reduction, self.ignore_index)

        return self._function([given, wanted, *([] if weight is None else [weight])], body)


class CategoricalCrossEntropyLoss(Loss):
    """Minus the logarithm of the softmax of predictions, times the targets, element by element.

    Targets are integers, one-hot over the classes, of the shape of predictions; weights (c,), one
    for each class. With an `ignore_index` of a class, rows of that class do not count.
    """

    ignore_index: int

    def __init__(self, reduction: Reduction = "mean", ignore_index: int = -100) -> None:
        super().__init__("categorical_cross_entropy_loss", 1, reduction)
        self.ignore_index = ignore_index

    def __call__(
        self,
        predictions: Var | StructInfo,
        targets: Var | StructInfo,
        weights: Var | StructInfo | None = None,
    ) -> Function:
        given, wanted = _param("predictions", predictions), _param("targets", targets)
        weight = None if weights is None else _param("weights", weights)

        form = _one_hot_form(wanted)

        def body(bb: BlockBuilder) -> Expr:
            logits = bb.emit(op.nn.log_softmax(given, axis=-1))
            if self.ignore_index >= 0:
                labels = bb.emit(op.argmax(wanted, axis=1))
                labels = bb.emit(op.reshape(labels, (form.values or ())[:1]))
                return op.nn.nll_loss(logits, labels, weight, self._reduction, self.ignore_index)
            rate = bb.emit(op.negative(logits))
            loss: Expr = op.multiply(rate, bb.emit(op.astype(wanted, "float32")))
            if weight is not None:
                loss = op.multiply(bb.emit(loss), weight)
            return self._with_reduction(loss)

        return self._function([given, wanted, *([] if weight is None else [weight])], body)



def _one_hot_form(targets: Var) -> TensorStructInfo:
    """The struct info of targets, which tell classes by integers."""
    info = targets.struct_info
    if not isinstance(info, TensorStructInfo) or not (
        info.dtype.is_int or info.dtype.is_uint
    ):
        kind = info.dtype if isinstance(info, TensorStructInfo) else info
        raise TypeError(
            f"Dtype of targets expected to be int/uint. However, the dtype of targets is {kind}"
        )
    return info
