"""Optimizers: functions from parameters, gradients and their own state to new ones.

    optimizer = Adam(0.01).init([w, b])     # variables with the struct info of the parameters
    func = optimizer.get_function()         # (params, gradients, optim_states)
    params, states = func(params, gradients, states)      # the first states: optimizer.state

Each of the three is a tuple; the first state counts the steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from tvm import runtime
from tvm.error import message
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant, Expr, Function, Tuple, TupleGetItem, Var, const
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo
from tvm.tir.expr import IntImm


class Optimizer:
    """Base of optimizers: `init` learns the parameters, `_emit_step` says how one is updated."""

    dtype: Any  # of the parameters, once they are known
    name: str
    param_list: list[Var]
    state: Any

    def __init__(self, name: str) -> None:
        self.name = name
        self.param_list = []
        self.state = None
        self.dtype = None

    def init(self, params: Var | list[Var]) -> Optimizer:
        """Take the parameters, and make the first state for them. Gives the optimizer itself."""
        self.param_list = _checked([params] if isinstance(params, Var) else list(params))
        self.dtype = str(_tensor(self.param_list[0]).dtype) if self.param_list else "float32"
        self.state = tuple(runtime.tensor(value) for value in self._first_state())
        return self

    def get_function(self) -> Function:
        """The function that updates the parameters. Raises RuntimeError before `init`."""
        if not self.param_list:
            raise RuntimeError("Please call init() for the optimizer before calling get_function()")
        infos = [param.struct_info for param in self.param_list]
        params = Var("params", TupleStructInfo(infos))
        gradients = Var("gradients", TupleStructInfo(infos))
        kept = [TensorStructInfo(value.shape, str(value.dtype)) for value in self._first_state()]
        states = Var("optim_states", TupleStructInfo(kept))
        bb = BlockBuilder()
        with bb.function(self.name, [params, gradients, states]):
            with bb.dataflow():
                new_params, new_states = self._emit_all(bb, params, gradients, states)
                results = [
                    bb.emit_output(Tuple(new_params), "params_new"),
                    bb.emit_output(Tuple(new_states), "optim_states_new"),
                ]
            var = bb.emit_func_output(results)
        made = bb.get()[var]
        assert isinstance(made, Function), "a function of Relax was built"
        return made.with_attr("global_symbol", self.name)

    # --- what an optimizer says of itself ---

    _scalars = 1  # states without dimensions, in front
    _moments: Sequence[str] = ()  # suffixes of the states that each parameter has

    def _first_state(self) -> list[Any]:
        return [np.array(0, "int64"), *self._first_scalars(), *self._zeros()]

    def _first_scalars(self) -> list[Any]:
        return []

    def _emit_scalars(self, bb: BlockBuilder, states: Var) -> list[Var]:
        """Bind the new values of the states without dimensions, but for the first."""
        return []

    def _emit_step(
        self, bb: BlockBuilder, param: Var, grad: Var, moments: list[Var], scalars: list[Var]
    ) -> tuple[Var, list[Var]]:
        """Bind the update of one parameter: its new value, and those of its states."""
        raise TypeError(f"{type(self).__name__} does not say how a parameter is updated")

    # --- what they share ---

    def _zeros(self) -> list[Any]:
        """Zeros in the shape of each parameter, for each moment."""
        return [
            np.zeros(_shape(param), self.dtype)
            for _ in self._moments
            for param in self.param_list
        ]

    def _emit_all(
        self, bb: BlockBuilder, params: Var, gradients: Var, states: Var
    ) -> tuple[list[Var], list[Var]]:
        steps = bb.emit(TupleGetItem(states, 0), "num_steps")
        steps = bb.emit(op.add(steps, const(1, "int64")), "num_steps_new")
        scalars = self._emit_scalars(bb, states)
        new_params: list[Var] = []
        new_moments: list[list[Var]] = [[] for _ in self._moments]
        count = len(self.param_list)
        for i, known in enumerate(self.param_list):
            name = known.name_hint
            param = bb.emit(TupleGetItem(params, i), name)
            grad = bb.emit(TupleGetItem(gradients, i), f"{name}_grad")
            moments = [
                bb.emit(TupleGetItem(states, self._scalars + k * count + i), f"{name}_{suffix}")
                for k, suffix in enumerate(self._moments)
            ]
            new, moved = self._emit_step(bb, param, grad, moments, scalars)
            new_params.append(new)
            for row, moment in zip(new_moments, moved):
                row.append(moment)
        return new_params, [steps, *scalars, *(moment for row in new_moments for moment in row)]

    def _const(self, value: float) -> Constant:
        return const(value, self.dtype)

    def _scaled(self, factor: float, value: Expr) -> Expr:
        return op.multiply(self._const(factor), value)

    def _decayed(self, bb: BlockBuilder, param: Var, grad: Var, weight_decay: float) -> Var:
        """The gradient of the loss with half `weight_decay` times the square of the parameter."""
        if not weight_decay:
            return grad
        return bb.emit(op.add(self._scaled(weight_decay, param), grad), f"{grad.name_hint}_new")

    def _moved(self, bb: BlockBuilder, param: Var, step: Expr) -> Var:
        return bb.emit(op.subtract(param, step), f"{param.name_hint}_new")


def _tensor(param: Var) -> TensorStructInfo:
    info = param.struct_info
    assert isinstance(info, TensorStructInfo), "checked when the optimizer took it"
    return info


def _shape(param: Var) -> list[int]:
    extents = _tensor(param).values
    if extents is None or not all(isinstance(n, IntImm) for n in extents):
        raise ValueError(
            message(f"the state of the parameter {param.name_hint!r}",
                    found=f"{param.struct_info}", legal="a shape of constants")
        )  # fmt: skip
    return [int(n) for n in extents]  # type: ignore[call-overload]


def _checked(params: list[Var]) -> list[Var]:
    seen: dict[str, Var] = {}
    dtype = None
    for param in params:
        if not isinstance(param, Var):
            raise ValueError(
                message("parameters of an optimizer", found=f"{type(param).__name__}",
                        legal="relax.Var with the struct info of a parameter")
            )  # fmt: skip
        what, info = f"the parameter {param.name_hint!r}", param.struct_info_
        if param in seen.values():
            raise ValueError(f"{what} of an optimizer is given twice")
        seen[param.name_hint] = param
        if not isinstance(info, TensorStructInfo) or not info.dtype.is_floating:
            raise ValueError(
                message(f"{what} of an optimizer", found=f"{info}", legal="a tensor of floats")
            )
        if dtype is not None and info.dtype != dtype:
            raise ValueError(
                message(f"{what} of an optimizer", found=f"dtype {info.dtype}",
                        legal=f"that of the others, {dtype}")
            )  # fmt: skip
        dtype = info.dtype
    return params


class SGD(Optimizer):
    """Stochastic gradient descent:  p -= lr * (g + weight_decay * p)."""

    def __init__(self, lr: float, weight_decay: float = 0) -> None:
        super().__init__("SGD")
        self.lr, self.weight_decay = float(lr), float(weight_decay)

    def _emit_step(
        self, bb: BlockBuilder, param: Var, grad: Var, moments: list[Var], scalars: list[Var]
    ) -> tuple[Var, list[Var]]:
        grad = self._decayed(bb, param, grad, self.weight_decay)
        return self._moved(bb, param, self._scaled(self.lr, grad)), []


class MomentumSGD(Optimizer):
    """Gradient descent with momentum (Sutskever et al. 2013, in the form with `dampening`).

        v = momentum * v + (1 - dampening) * (g + weight_decay * p)
        p -= lr * v,   with Nesterov's momentum  lr * (g + weight_decay * p + momentum * v)
    """

    _moments = ("v",)

    def __init__(
        self,
        lr: float,
        momentum: float,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
    ) -> None:
        super().__init__("MomentumSGD")
        self.lr, self.momentum = float(lr), float(momentum)
        self.dampening, self.weight_decay = float(dampening), float(weight_decay)
        self.nesterov = nesterov

    def _emit_step(
        self, bb: BlockBuilder, param: Var, grad: Var, moments: list[Var], scalars: list[Var]
    ) -> tuple[Var, list[Var]]:
        name = param.name_hint
        grad = self._decayed(bb, param, grad, self.weight_decay)
        kept = bb.emit(self._scaled(self.momentum, moments[0]))
        fresh: Expr = grad
        if self.dampening:
            fresh = self._scaled(_rest(self.dampening), grad)
        velocity = bb.emit(op.add(kept, fresh), f"{name}_v_new")
        step = velocity
        if self.nesterov:
            ahead = self._scaled(self.momentum, velocity)
            step = bb.emit(op.add(grad, ahead), f"{name}_g_nest")
        return self._moved(bb, param, self._scaled(self.lr, step)), [velocity]


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015), with the moments' bias corrected.

        m = b0 * m + (1 - b0) * g,   v = b1 * v + (1 - b1) * g * g,   g with weight_decay * p added
        p -= lr * (m / (1 - b0^t)) / (sqrt(v / (1 - b1^t)) + eps)
    """

    _scalars = 3
    _moments = ("m", "v")

    def __init__(
        self,
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0,
    ) -> None:
        super().__init__("Adam")
        self.lr, self.eps = float(lr), float(eps)
        self.beta1, self.beta2 = float(betas[0]), float(betas[1])
        self.weight_decay = float(weight_decay)

    def _first_scalars(self) -> list[Any]:
        return [np.array(1, self.dtype), np.array(1, self.dtype)]  # the powers of the betas

    def _emit_scalars(self, bb: BlockBuilder, states: Var) -> list[Var]:
        powers = []
        for i, beta in enumerate((self.beta1, self.beta2)):
            old = TupleGetItem(states, i + 1)
            powers.append(bb.emit(op.multiply(old, self._const(beta)), f"beta{i + 1}_prod"))
        return powers

    def _emit_step(
        self, bb: BlockBuilder, param: Var, grad: Var, moments: list[Var], scalars: list[Var]
    ) -> tuple[Var, list[Var]]:
        name = param.name_hint
        grad = self._decayed(bb, param, grad, self.weight_decay)
        square = op.multiply(grad, grad)
        moved: list[Var] = []
        unbiased: list[Var] = []
        sources = zip(moments, (grad, square), (self.beta1, self.beta2), self._moments)
        for old, value, beta, suffix in sources:
            mixed = op.add(self._scaled(beta, old), self._scaled(_rest(beta), value))
            moved.append(bb.emit(mixed, f"{name}_{suffix}_new"))
        for moment, power, suffix in zip(moved, scalars, self._moments):
            rest = op.subtract(self._const(1), power)
            unbiased.append(bb.emit(op.divide(moment, rest), f"{name}_{suffix}_hat"))
        mean, variance = unbiased
        step = op.divide(mean, op.add(op.sqrt(variance), self._const(self.eps)))
        return self._moved(bb, param, self._scaled(self.lr, step)), moved


def _rest(share: float) -> float:
    """1 - share as it is written: 0.1 of 0.9, not 0.09999999999999998."""
    return float(1 - Decimal(str(share)))
