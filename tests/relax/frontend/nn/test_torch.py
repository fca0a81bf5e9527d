"""Compiled networks that take and give tensors of torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import spec
from tvm.relax.frontend.nn.torch import TorchModule

from .test_jit import FORMS, layer


def test_what_is_refused() -> None:
    vm, params, specs = layer().jit(FORMS, out_format="tvm")
    module = TorchModule(specs, vm, params)
    assert module.effects is None
    with pytest.raises(ValueError, match="the method 'backward'"):
        module["backward"]
    with pytest.raises(TypeError, match="found: 0"):
        module["forward"]()
    with pytest.raises(TypeError, match="a tensor of torch"):
        module["forward"](3)


def test_numbers() -> None:
    torch = pytest.importorskip("torch")
    module: Any = layer().jit(FORMS)
    found = module["forward"](torch.ones(4, 3))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_array_equal(found.numpy(), np.tile([4, 13], (4, 1)))


def test_effects_stay_from_call_to_call() -> None:
    torch = pytest.importorskip("torch")

    class Remembers(nn.Module):
        def __init__(self) -> None:
            self.cache = nn.KVCache(2, [3])

        def forward(self, x: nn.Tensor, total: Any) -> nn.Tensor:
            self.cache.append(x)
            return self.cache.view(total)

    forms = {"forward": {"x": spec.Tensor(["n", 3], "float32"), "total": "int"}}
    for mode in ("plain", "packed"):
        forms["forward"]["$"] = {"param_mode": mode, "effect_mode": mode}
        module: Any = Remembers().jit(forms)
        parts = [torch.rand(n, 3) for n in (1, 3)]
        module["forward"](parts[0], 1)
        assert torch.equal(module["forward"](parts[1], 4), torch.cat(parts))


def test_packed_effects_of_a_network_without_any() -> None:
    torch = pytest.importorskip("torch")
    forms = {"forward": {**FORMS["forward"], "$": {"effect_mode": "packed"}}}
    module: Any = layer().jit(forms)
    np.testing.assert_array_equal(module["forward"](torch.ones(4, 3)), np.tile([4, 13], (4, 1)))
