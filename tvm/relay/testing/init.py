"""Values for the parameters of networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.relay.transform import InferType
from tvm.runtime import tensor


class Initializer:
    """Fills arrays by the names of their parameters."""

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs

    def __call__(self, desc: str, arr: Any) -> None:
        ends = {
            "weight": self._init_weight, "bias": self._zeros, "gamma": self._ones,
            "beta": self._zeros, "mean": self._zeros, "var": self._ones,
        }  # fmt: skip
        plain = desc.rstrip("0123456789")  # several parameters of a kind are numbered
        for end, fill in ends.items():
            if plain.endswith(end):
                fill(desc, arr)
                return
        self._init_default(desc, arr)

    def _zeros(self, name: str, arr: Any) -> None:
        arr[:] = 0.0

    def _ones(self, name: str, arr: Any) -> None:
        arr[:] = 1.0

    def _init_weight(self, name: str, arr: Any) -> None:
        arr[:] = np.random.uniform(-0.1, 0.1, arr.shape)

    def _init_default(self, name: str, arr: Any) -> None:
        raise ValueError(
            f"Unknown initialization pattern for {name}. Default initialization is limited to "
            '"weight", "bias", "gamma" (1.0), and "beta" (0.0).'
        )


class Xavier(Initializer):
    """Weights whose spread keeps that of the signal (Glorot and Bengio, 2010)."""

    def __init__(
        self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3
    ) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        if rnd_type not in ("uniform", "gaussian") or factor_type not in ("avg", "in", "out"):
            raise ValueError(
                f"Xavier: {rnd_type!r}, {factor_type!r}; legal: uniform or gaussian, "
                "and avg, in or out"
            )
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name: str, arr: Any) -> None:
        shape = arr.shape
        if len(shape) < 2:
            raise ValueError(
                f"Xavier initializer cannot be applied to vector {name}. It requires at least 2D."
            )
        window = float(np.prod(shape[2:]))
        fan_in, fan_out = shape[1] * window, shape[0] * window
        factor = {"avg": (fan_in + fan_out) / 2.0, "in": fan_in, "out": fan_out}[self.factor_type]
        scale = np.sqrt(self.magnitude / factor)
        if self.rnd_type == "uniform":
            arr[:] = np.random.uniform(-scale, scale, shape)
        else:
            arr[:] = np.random.normal(0, scale, shape)


class Constant(Initializer):
    """Weights of one value."""

    def _init_weight(self, name: str, arr: Any) -> None:
        arr[:] = self._kwargs["value"]


def create_workload(
    net: RelaxExpr, initializer: Initializer | None = None, seed: int = 0
) -> tuple[IRModule, dict[str, Any]]:
    """A network as a module with types, and values for all parameters but `data` and labels."""
    mod = InferType()(IRModule.from_expr(net))
    np.random.seed(seed)
    fill = initializer or Xavier()
    params: dict[str, Any] = {}
    for param in mod["main"].params:  # type: ignore[attr-defined]
        name, found = param.name_hint, param.checked_type
        if name in ("data", "label") or not hasattr(found, "concrete_shape"):
            continue
        array = np.zeros(found.concrete_shape, str(found.dtype))
        fill(name, array)
        params[name] = tensor(array)
    return mod, params
