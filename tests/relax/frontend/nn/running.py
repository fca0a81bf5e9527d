"""Exported networks, run by the interpreter beside numpy."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tvm.relax import interp
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import spec


def apply(func: Callable[..., Any], *arrays: Any) -> Any:
    """What a function of `nn.Tensor` gives for arrays; a tuple where it gives one."""
    names = [f"x{i}" for i in range(len(arrays))]
    method = spec.MethodSpec(
        func, names, [spec.Tensor(a.shape, str(a.dtype)) for a in arrays], "plain", "plain"
    )
    mod, _ = nn.Module().export_tvm(spec.ModuleSpec(nn.Module(), ["forward"], [method]))
    return interp.run(mod, *arrays, name="forward")


def run(module: nn.Module, *arrays: Any, **options: Any) -> tuple[Any, dict[str, Any]]:
    """What a network gives with random parameters, and these."""
    names = list(inspect.signature(module.forward).parameters)
    forms = {name: spec.Tensor(a.shape, str(a.dtype)) for name, a in zip(names, arrays)}
    mod, params = module.export_tvm({"forward": forms}, **options)
    rng = np.random.default_rng(0)
    values = {
        name: rng.standard_normal([int(n) for n in p.shape]).astype(p.dtype) for name, p in params
    }
    return interp.run(mod, *arrays, *values.values(), name="forward"), values
