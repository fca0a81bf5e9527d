"""Functions with versions for targets."""

from __future__ import annotations

import pytest

import tvm
from tvm.target import Target
from tvm.target.generic_func import GenericFunc

pytestmark = pytest.mark.pure


def test_versions_by_key() -> None:
    @tvm.target.generic_func
    def layout(data: int) -> str:
        """Where it is laid out."""
        return f"default {data}"

    @layout.register(["cuda", "gpu"])
    def layout_gpu(data: int) -> str:
        return f"gpu {data}"

    layout.register("cpu", lambda data: f"cpu {data}")
    assert layout(1) == "default 1"
    assert layout.__doc__ == "Where it is laid out."
    with Target("cuda"):
        assert layout(1) == "gpu 1"
    with Target("llvm"):
        assert layout(1) == "cpu 1"
    assert sorted(layout.dispatch_dict) == ["cpu", "cuda", "gpu"]
    with pytest.raises(ValueError, match="already registered for layout: cpu"):
        layout.register("cpu", layout_gpu)
    layout.register("cpu", layout_gpu, override=True)
    with Target("llvm"):
        assert layout(2) == "gpu 2"


def test_versions_by_name() -> None:
    @tvm.target.override_native_generic_func("test_strategy")
    def strategy(data: int) -> str:
        return f"default {data}"

    @strategy.register("cuda")
    def strategy_cuda(data: int) -> str:
        return f"cuda {data}"

    assert strategy(3) == "default 3"
    named = tvm.target.get_native_generic_func("test_strategy")
    with Target("cuda"):
        assert named(3) == strategy(3) == "cuda 3"
    with pytest.raises(RuntimeError, match="arguments cannot be used when invoking generic_func"):
        strategy(data=3)


def test_no_version_fits() -> None:
    func = GenericFunc("f")
    func.register(lambda: 1, "cuda")
    with pytest.raises(ValueError, match="No generic function registered for f"), Target("llvm"):
        func()
    func.set_default(lambda: 2)
    with pytest.raises(ValueError, match="already registered for f"):
        func.set_default(lambda: 3)
    func.set_default(lambda: 3, allow_override=True)
    assert func() == 3
