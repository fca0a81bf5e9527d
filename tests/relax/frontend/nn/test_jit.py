"""Networks, compiled and run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import runtime
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import spec


def layer() -> nn.Linear:
    made = nn.Linear(3, 2)
    made.weight.data = np.arange(6, dtype="float32").reshape(2, 3)
    made.bias.data = np.ones(2, "float32")
    return made


FORMS: dict[str, Any] = {"forward": {"x": spec.Tensor(["n", 3], "float32")}}


def test_numbers() -> None:
    vm, params, specs = layer().jit(FORMS, out_format="tvm")
    assert specs.method_names == ["forward"]
    x = np.ones((4, 3), "float32")
    found = vm["forward"](runtime.tensor(x), *params).numpy()
    np.testing.assert_array_equal(found, np.tile([4, 13], (4, 1)))


def test_parameters_need_values() -> None:
    with pytest.raises(ValueError, match="the parameter 'weight'"):
        nn.Linear(3, 2).jit(FORMS, out_format="tvm")
