"""Predicates of accesses are refused where a language has none."""

from __future__ import annotations

import pytest

import tvm
from tvm.script import tir as T

MASK = "T.Broadcast(T.bool(True), 4)"


@pytest.mark.parametrize("target", ["c", "cuda", "opencl", "metal", "webgpu"])
@pytest.mark.parametrize("kind", ["load", "store"])
@pytest.mark.parametrize("index", ["T.Ramp(i, 1, 4)", "T.Ramp(i, 2, 4)"])
def test_masked_lanes(target: str, kind: str, index: str) -> None:
    loaded, stored = (f", predicate={MASK}" if kind == one else "" for one in ("load", "store"))
    loop = "range(1)" if target == "c" else 'T.thread_binding(1, "threadIdx.x")'
    func = tvm.script.from_source(
        f"""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in {loop}:
        B.vstore([{index}], A.vload([{index}]{loaded}){stored})
""",
        extra_vars={"T": T},
    )
    with pytest.raises(tvm.TVMError, match=rf"Predicated buffer {kind} is not supported\."):
        tvm.tir.build(func, target=tvm.target.Target(target, host="c"))
