"""Run an operator on arrays, step by step, beside the type that was inferred for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tvm
from tvm import relay
from tvm.relay.backend.evaluate import Closure, Machine


def function_of(build: Callable[..., Any], arrays: Sequence[Any]) -> Any:
    """The function of variables that have the arrays' types."""
    params = [
        relay.var(f"x{at}", shape=np.shape(a), dtype=str(np.asarray(a).dtype))
        for at, a in enumerate(arrays)
    ]
    return relay.Function(params, build(*params))


def value_of(build: Callable[..., Any], arrays: Sequence[Any]) -> tuple[Any, Any]:
    """The value of `build(*variables)` for arrays, and its type (tuples in parts)."""
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(function_of(build, arrays)))
    func = mod["main"]
    found = Machine(mod).apply(Closure(func, {}), [np.asarray(a) for a in arrays])
    fields = getattr(func.ret_type, "fields", None)
    if fields is None:
        return np.asarray(found), func.ret_type
    return tuple(np.asarray(field) for field in found), tuple(fields)
