"""A long short-term memory layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
}


def lstm_python(
    Xs: Any, Wi: Any, Wh: Any, Bi: Any = None, Bh: Any = None, h_init: Any = None,
    c_init: Any = None, proj: Any = None, p_i: Any = None, p_f: Any = None, p_o: Any = None,
    f_act: str = "sigmoid", g_act: str = "tanh", h_act: str = "tanh", reverse: bool = False,
    weight_layout: str = "IFGO",
) -> tuple[Any, Any]:  # fmt: skip
    """All hidden states and all cell states.   (t, b, i), (4 h, i), (4 h, h) -> (t, b, h) twice"""
    steps, batch, _ = Xs.shape
    hidden = Wh.shape[0] // 4
    out = proj.shape[0] if proj is not None else hidden
    h = np.zeros((batch, out), Xs.dtype) if h_init is None else h_init
    c = np.zeros((batch, hidden), Xs.dtype) if c_init is None else c_init
    f, g, e = (_ACTIVATIONS[name] for name in (f_act, g_act, h_act))
    all_h, all_c = (
        np.zeros((steps, batch, out), Xs.dtype),
        np.zeros((steps, batch, hidden), Xs.dtype),
    )
    for t in range(steps):
        x = Xs[steps - 1 - t if reverse else t]
        gates = x @ Wi.T + h @ Wh.T
        gates = gates + (0 if Bi is None else Bi) + (0 if Bh is None else Bh)
        part = {
            name: gates[:, k * hidden : (k + 1) * hidden] for k, name in enumerate(weight_layout)
        }
        i = f(part["I"] + (0 if p_i is None else p_i * c))
        forget = f(part["F"] + (0 if p_f is None else p_f * c))
        c = forget * c + i * g(part["G"])
        o = f(part["O"] + (0 if p_o is None else p_o * c))
        h = o * e(c)
        if proj is not None:
            h = h @ proj.T
        all_h[t], all_c[t] = h, c
    return all_h, all_c
