from __future__ import annotations

import pytest

import tvm
from tests.dlight.gpu.lowered import KINDS, target
from tvm import relax, tir
from tvm.ir import IRModule
from tvm.relax.backend import adreno, cuda, gpu_generic, rocm
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Network:
    @R.function
    def main(  # type: ignore[no-untyped-def]
        x: R.Tensor(("n", 64), "float32"),
        w: R.Tensor((64, 32), "float32"),
        b: R.Tensor((32,), "float32"),
    ):
        with R.dataflow():
            h = R.nn.relu(R.add(R.matmul(x, w), b))
            y = R.nn.softmax(h)
            z = R.sum(y, axis=1)
            R.output(y, z)
        return y, z


def kernels(mod: IRModule) -> list[tir.PrimFunc]:
    found = [f for f in mod.functions.values() if isinstance(f, tir.PrimFunc)]
    return [f for f in found if f.attrs.get("tir.is_scheduled")]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kernel_has_threads(kind: str) -> None:
    on = target(kind)
    with on:
        after = tvm.transform.Sequential(gpu_generic.legalize_passes(on))(Network)
    scheduled = kernels(after)
    assert len(scheduled) == 3
    assert all("blockIdx.x" in str(f) and "threadIdx.x" in str(f) for f in scheduled)


@pytest.mark.parametrize(("package", "kind"), [(cuda, "cuda"), (rocm, "rocm"), (adreno, "opencl")])
def test_all_passes_in_order(package: object, kind: str) -> None:
    on = target(kind)
    after = package.get_default_pipeline(on)(Network)  # type: ignore[attr-defined]
    assert len(kernels(after)) >= 3
    main = after["main"]
    assert isinstance(main, relax.Function)
    assert main.attrs["global_symbol"] == "main"
