"""WGSL for Vulkan has numbers of 64 bits; places are of 32."""

from __future__ import annotations

import pytest

from tests.backend.cuda.test_codegen import elementwise
from tests.backend.device.harness import source_of
from tvm import tir

pytestmark = pytest.mark.cpu


def test_wide_numbers() -> None:
    mod = elementwise("int64", "int64", 1, lambda x: x + tir.const(-(1 << 63), "int64"))
    text = source_of(mod, "vulkan")
    assert "array<i64>" in text
    assert "(-9223372036854775807li - 1li)" in text
    assert "i32(" in text  # the place
    doubles = source_of(elementwise("float64", "float64", 1, lambda x: x * 2.5), "vulkan")
    assert "2.500000e+00lf" in doubles
    assert "array<vec2<u32>>" in source_of(mod, "webgpu")  # as pairs of words


def test_division_rounds_down_in_both_widths() -> None:
    for dtype, word, suffix in (("int64", "i64", "li"), ("int32", "i32", "i")):
        mod = elementwise(dtype, dtype, 1, lambda x: tir.floordiv(x, x - 3))
        text = source_of(mod, "vulkan")
        assert f"fn floordiv_{word}(a : {word}, b : {word}) -> {word}" in text
        assert f"a / b - 1{suffix}" in text
