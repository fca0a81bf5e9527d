"""Run training: keeps parameters and states, and calls what `SetupTrainer` has made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Union

import numpy as np

from tvm import runtime
from tvm.error import message
from tvm.ir.module import IRModule
from tvm.relax.expr import Function, Var
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.vm import VirtualMachine
from tvm.runtime import Device, Tensor
from tvm.runtime.profiling import Report

from .setup_trainer import TrainingNames

Values = Union["np.ndarray[Any, Any]", Tensor]


class Trainer(TrainingNames):
    """A network in training on a virtual machine.

    `train_mod` is what `SetupTrainer` gave (before it was compiled), `vm` runs it compiled.
    Parameters and states start as zeros, or are set by `load_params`, `load_states`,
    `xaiver_uniform_init_params`.
    """

    def __init__(
        self,
        train_mod: IRModule,
        vm: VirtualMachine,
        device: Device,
        zero_init_param_state: bool = True,
    ) -> None:
        self.mod = train_mod
        self.vm = vm
        self.device = device
        attrs: Any = train_mod.attrs
        keys = ("input_num", "param_num", "state_num", "optim_state")
        missing = [key for key in keys if key not in attrs]
        if missing:
            raise ValueError(
                message("a module to train", found=f"no attribute {missing[0]!r}",
                        legal="what relax.training.SetupTrainer gives")
            )  # fmt: skip
        self._input_num, params, states = (int(attrs[key]) for key in keys[:3])
        backbone = train_mod[self.BACKBONE_FUNC]
        assert isinstance(backbone, Function), "SetupTrainer has checked it"
        first, last = self._input_num, self._input_num + params
        self._params = _Kept("parameter", backbone.params[first:last], device)
        self._states = _Kept("state", backbone.params[last : last + states], device)
        self._optim_states = [_on(device, value) for value in attrs["optim_state"]]
        if zero_init_param_state:
            self.zero_init_params()
            self.zero_init_states()

    # --- parameters and states ---

    def xaiver_uniform_init_params(self) -> None:
        """Start parameters with uniform numbers of +-sqrt(6 / (fan in + fan out)).

        (Glorot and Bengio, 2010.) A parameter with one dimension starts with zeros.
        """
        rng = np.random.default_rng()
        for i, (shape, dtype) in enumerate(self._params.forms):
            if len(shape) < 2:
                self._params.values[i] = _on(self.device, np.zeros(shape, dtype))
                continue
            field = math.prod(shape[2:])
            bound = math.sqrt(6.0 / ((shape[0] + shape[1]) * field))
            values = rng.uniform(-bound, bound, shape).astype(dtype)
            self._params.values[i] = _on(self.device, values)

    def zero_init_params(self) -> None:
        """Start parameters with zeros."""
        self._params.zero()

    def zero_init_states(self) -> None:
        """Start states with zeros."""
        self._states.zero()

    def load_params(self, params: Sequence[Values] | Mapping[str, Values]) -> None:
        """Set parameters: a list with all of them in order, or some by their names."""
        self._params.load(params)

    def load_states(self, states: Sequence[Values] | Mapping[str, Values]) -> None:
        """Set states: a list with all of them in order, or some by their names."""
        self._states.load(states)

    def export_params(self) -> dict[str, Tensor]:
        """The parameters by their names."""
        return dict(zip(self._params.names, self._params.all()))

    def export_states(self) -> dict[str, Tensor]:
        """The states by their names."""
        return dict(zip(self._states.names, self._states.all()))

    # --- running ---

    def predict(self, *input_instances: Values) -> Any:
        """What the network gives for inputs, without the states that it gives too."""
        given = self._inputs(input_instances)
        result = self.vm[self.BACKBONE_FUNC](*given, *self._params.all(), *self._states.all())
        count = len(self._states.names)
        if count == 0:
            return result
        results = [result[i] for i in range(len(result) - count)]
        return results[0] if len(results) == 1 else results

    def update(
        self,
        input_instances: Values | Sequence[Values],
        targets: Values | Sequence[Values],
    ) -> Tensor:
        """One step with a batch: parameters and states change. Gives the loss before it."""
        result, gradients = self.vm[self.ADJOINT_FUNC](*self._arguments(input_instances, targets))
        count = len(self._states.names)
        loss: Tensor = result if count == 0 else result[0]
        if count:
            self._states.values = [result[i + 1] for i in range(count)]
        params, states = self.vm[self.OPTIMIZER_FUNC](
            tuple(self._params.all()), gradients, tuple(self._optim_states)
        )
        self._params.values = list(params)
        self._optim_states = list(states)
        return loss

    def profile_adjoint(
        self, input_instances: Sequence[Values], targets: Sequence[Values]
    ) -> Report:
        """The time of each kernel in one run of the gradients; nothing changes.

        Needs a virtual machine that was made with `profile=True`.
        """
        report: Report = self.vm.profile(
            self.ADJOINT_FUNC, *self._arguments(input_instances, targets)
        )
        return report

    def _arguments(
        self, inputs: Values | Sequence[Values], targets: Values | Sequence[Values]
    ) -> list[Tensor]:
        first: Sequence[Any] = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        last: Sequence[Any] = targets if isinstance(targets, (list, tuple)) else [targets]
        wanted = [_on(self.device, value) for value in last]
        return [*self._inputs(first), *self._params.all(), *self._states.all(), *wanted]

    def _inputs(self, given: Sequence[Values]) -> list[Tensor]:
        if len(given) != self._input_num:
            raise ValueError(
                message(f"inputs of {self.BACKBONE_FUNC!r}", found=f"{len(given)}",
                        legal=f"{self._input_num}")
            )  # fmt: skip
        return [_on(self.device, value) for value in given]


class _Kept:
    """Tensors that stay from one step to the next: parameters, or states."""

    def __init__(self, what: str, params: Sequence[Var], device: Device) -> None:
        self.what = what
        self.device = device
        self.names = [var.name_hint for var in params]
        self.forms = [_form(var) for var in params]
        self.values: list[Tensor | None] = [None] * len(self.names)

    def zero(self) -> None:
        self.values = [_on(self.device, np.zeros(*form)) for form in self.forms]

    def all(self) -> list[Tensor]:
        found = [value for value in self.values if value is not None]
        if len(found) != len(self.names):
            name = self.names[[v is None for v in self.values].index(True)]
            raise RuntimeError(
                message(f"the {self.what} {name!r}", found="no value yet",
                        legal=f"load_{self.what[:5]}s, or one of the init methods, before")
            )  # fmt: skip
        return found

    def load(self, given: Sequence[Values] | Mapping[str, Values]) -> None:
        if not hasattr(given, "items"):
            if len(given) != len(self.names):
                raise ValueError(
                    message(f"{self.what}s to load", found=f"{len(given)}",
                            legal=f"all {len(self.names)}: {', '.join(self.names)}")
                )  # fmt: skip
            given = dict(zip(self.names, given))
        assert hasattr(given, "items"), "a list was made a map"
        found: list[tuple[int, Tensor]] = []
        for name, value in given.items():
            if name not in self.names:
                raise ValueError(
                    message(f"{self.what}s to load", found=f"{name!r}",
                            legal=", ".join(self.names) or "none")
                )  # fmt: skip
            index = self.names.index(name)
            shape, dtype = self.forms[index]
            array = value if isinstance(value, Tensor) else np.asarray(value)
            found_shape = tuple(array.shape)
            if found_shape != shape or str(array.dtype) != dtype:
                raise ValueError(
                    message(f"the {self.what} {name!r}", found=f"{array.dtype} {found_shape}",
                            legal=f"{dtype} {shape}")
                )  # fmt: skip
            found.append((index, _on(self.device, array)))
        for index, tensor in found:
            self.values[index] = tensor


def _form(var: Var) -> tuple[tuple[int, ...], str]:
    info = var.struct_info
    assert isinstance(info, TensorStructInfo), "the optimizer took tensors only"
    return tuple(int(n) for n in info.values or ()), str(info.dtype)  # type: ignore[call-overload]


def _on(device: Device, value: Values) -> Tensor:
    if isinstance(value, Tensor) and value.device == device:
        return value
    host = value.numpy() if isinstance(value, Tensor) else np.asarray(value)
    return runtime.tensor(host, device)
