"""Weights that products take transposed, transposed once and for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tvm.ir.module import IRModule
from tvm.relay.analysis import search_fc_transpose
from tvm.relay.function import Function
from tvm.relay.transform import SimplifyFCTranspose
from tvm.runtime import tensor


def convert(func: Function, params: Mapping[str, Any]) -> tuple[Function, dict[str, Any]]:
    """`func` and `params` where a weight `w` that stands transposed in products is `w.T`.

    Weights that are not among `params` stay as they are.
    """
    names = [name for name in search_fc_transpose(func) if name in params]
    found = SimplifyFCTranspose(names)(IRModule.from_expr(func))["main"]
    assert isinstance(found, Function), "a function stays one"
    left = {param.name_hint for param in found.params}
    made = dict(params)
    for name in names:
        made[f"{name}.T"] = tensor(np.ascontiguousarray(params[name].numpy().T))
        if name not in left:
            made.pop(name, None)
    return found, made
