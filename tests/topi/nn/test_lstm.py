from __future__ import annotations

from typing import Any

import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError
from tvm.topi import testing

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    "names", [[], ["Bi", "Bh"], ["h_init", "c_init"], ["p_i", "p_f", "p_o"], ["proj"]]
)
@pytest.mark.parametrize("reverse", [False, True])
def test_against_the_formulas(names: list[str], reverse: bool) -> None:
    out = 2 if "proj" in names else 3
    x, wi, wh = floats(4, 2, 5), floats(12, 5, seed=1), floats(12, out, seed=2)
    shapes: dict[str, Any] = {
        "Bi": (12,), "Bh": (12,), "h_init": (2, out), "c_init": (2, 3), "proj": (2, 3),
        "p_i": (2, 3), "p_f": (2, 3), "p_o": (2, 3),
    }  # fmt: skip
    extra = {n: floats(*shapes[n], seed=3 + k) for k, n in enumerate(names)}
    wanted = testing.lstm_python(x, wi, wh, **extra, reverse=reverse, weight_layout="FIGO")
    op = lambda a, b, c, *rest: topi.nn.lstm(
        a, b, c, **dict(zip(names, rest)), reverse=reverse, weight_layout="FIGO"
    )  # fmt: skip
    for got, want in zip(evaluate(op, x, wi, wh, *extra.values()), wanted):
        close(got, want, 1e-4, 1e-5)


def test_refuses() -> None:
    x = te.placeholder((4, 2, 5))
    with pytest.raises(ShapeError, match=r"an order of I, F, G, O"):
        topi.nn.lstm(x, te.placeholder((12, 5)), te.placeholder((12, 3)), weight_layout="IFGX")
