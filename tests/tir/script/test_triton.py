"""Kernels of Triton: their types, constants and launch; the compiler itself stands aside."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tvm import tir
from tvm.error import TVMError
from tvm.ir.type import PointerType, PrimType
from tvm.script.ir_builder.tir.triton import TritonKernel
from tvm.tir.script import triton

pytestmark = pytest.mark.cpu
PTX = ".visible .entry scale(.param .u64 p0, .param .u32 p1, .param .u64 p2)\n{ }"


def jit(*params: str) -> Any:
    """A stand-in for a function decorated by triton.jit; capitals are constexpr."""
    named = [SimpleNamespace(name=p, is_constexpr=p.isupper()) for p in params]
    return SimpleNamespace(__name__="scale", params=named, src="def scale(): ...")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    seen: list[Any] = []

    def compiled(func: Any, signature: dict[str, str], constants: dict[str, Any]) -> Any:
        seen.append((signature, constants))
        about = SimpleNamespace(num_warps=4, shared=256, name="scale")
        return SimpleNamespace(metadata=about, asm={"ptx": PTX})

    monkeypatch.setattr(triton, "_compile", compiled)
    return seen


DATA = tir.Var("x", PointerType(PrimType("float16")))


def test_a_kernel(asked: list[Any]) -> None:
    n = tir.Var("n", "int32")
    kernel = TritonKernel(jit("x", "n", "BLOCK"))
    name, module, values = kernel.compile_to_device_module((n, 2), DATA, n, BLOCK=64)
    assert asked == [({"x": "*fp16", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 64})]
    assert name == "scale"
    info = module.kernels["scale"]  # type: ignore[attr-defined]
    assert info.arg_types == ("handle", "int32", "handle")  # the last is Triton's scratch
    assert info.launch_param_tags == (
        "threadIdx.x", "blockIdx.x", "blockIdx.y", "tir.use_dyn_shared_memory",
    )  # fmt: skip
    assert values[0] is DATA
    assert [str(v) for v in values[1:]] == ["n", "T.int64(0)", "128", "n", "2", "256"]


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [("bool", "i1"), ("uint8", "u8"), ("int64", "i64"), ("bfloat16", "bf16"), ("float64", "fp64")],
)
def test_types_of_numbers(asked: list[Any], dtype: str, wanted: str) -> None:
    TritonKernel(jit("n")).compile_to_device_module((1,), tir.Var("n", dtype))
    assert asked[0][0] == {"n": wanted}


def test_refused(asked: list[Any]) -> None:
    kernel = TritonKernel(jit("x", "n"))
    with pytest.raises(TypeError, match=r"3 arguments[\s\S]*2: x, n"):
        kernel.compile_to_device_module((1,), DATA, 1, 2)
    with pytest.raises(TypeError, match="each once: x, n"):
        kernel.compile_to_device_module((1,), DATA)
    with pytest.raises(TypeError, match="pointer h to an unknown type"):
        kernel.compile_to_device_module((1,), tir.Var("h", "handle"), 1)
    with pytest.raises(TypeError, match="dtype float8_e3m4"):
        kernel.compile_to_device_module((1,), DATA, tir.Var("n", "float8_e3m4"))
    with pytest.raises(ValueError, match="one to three extents"):
        kernel.compile_to_device_module(8, DATA, 1)


def test_without_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "triton.compiler", None)
    with pytest.raises(TVMError, match="no package triton"):
        TritonKernel(jit("x")).compile_to_device_module((1,), DATA)
