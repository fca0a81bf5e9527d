"""Attention: imported, against torch's numbers."""

from __future__ import annotations

from typing import Any

import pytest

from .cases import FAMILIES, Case
from .running import check, torch


@pytest.mark.parametrize("case", FAMILIES["attention"], ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(("causal", "masked"), [(False, False), (True, False), (False, True)])
def test_sums_that_torchs_own_kernel_gives(causal: bool, masked: bool) -> None:
    """What `run_decompositions` leaves of attention on CPUs, and its second result."""
    kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu

    def func(q: Any, k: Any, v: Any, m: Any) -> Any:
        return kernel(q, k, v, 0.0, causal, attn_mask=m if masked else None)

    check(Case("flash", func, ((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 8), (2, 1, 5, 7))))
