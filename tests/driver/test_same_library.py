"""A library is the same to the bit, whatever was compiled before, cached, or done by others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.arith import simplified_before
from tvm.backend.llvm import split, worker, workers
from tvm.ir import IRModule
from tvm.relax import op

pytestmark = pytest.mark.cpu


def _network(width: int) -> IRModule:
    """Convolutions of pictures of any size, and a product; `width` changes the last layers only."""
    rng = np.random.default_rng(0)

    def weight(*shape: int) -> relax.Constant:
        return relax.const(rng.standard_normal(shape).astype("float32"))

    n = tvm.tir.SizeVar("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo((1, 4, n, 16), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(op.nn.relu(bb.emit(op.nn.conv2d(x, weight(8, 4, 3, 3), padding=1))))
            y = bb.emit(op.mean(y, axis=[2]))
            y = bb.emit(op.nn.softmax(bb.emit(op.matmul(y, weight(16, width)))))
            out = bb.emit_output(y)
        bb.emit_func_output(out)
    return bb.get()


def _library(width: int, folder: Path) -> bytes:
    path = folder / "net.so"
    tvm.compile(_network(width), target="llvm").export_library(str(path))
    return path.read_bytes()


def test_every_way_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TVM_COMPILE_WORKERS", "0")
    monkeypatch.setattr(split, "SMALLEST", 0)
    monkeypatch.setattr(workers, "_MIN_TEXT", 0)
    monkeypatch.setenv("TVM_CACHE", "0")
    simplified_before.clear()
    wanted = _library(32, tmp_path)
    assert _library(32, tmp_path) == wanted, "what was proved before is known now"
    monkeypatch.setenv("TVM_CACHE", "1")
    other = _library(24, tmp_path)
    assert other != wanted
    assert _library(32, tmp_path) == wanted, "some kernels come from the cache"
    assert _library(32, tmp_path) == wanted, "and now all of it"
    monkeypatch.setenv("TVM_CACHE", "0")
    monkeypatch.setenv("TVM_COMPILE_WORKERS", "1")
    assert _library(32, tmp_path) == wanted, "another process helps"
    for process in list(worker._begun):
        process.end()
    worker._idle.clear()
