"""Variants that a process of its own compiles, through the virtual machine."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.error import TVMError
from tvm.relax.vm import variants
from tvm.runtime import hot_sizes
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

WEIGHT = np.arange(3 * 3 * 2 * 4, dtype="float32").reshape(4, 2, 3, 3) / 64
NOTHING = tvm.tir.transform.prim_func_pass(lambda f, m, c: f, 0, "nothing")


@I.ir_module
class Picture:
    @R.function
    def main(
        x: R.Tensor(("n", 2, "h", "w"), "float32"), k: R.Tensor((4, 2, 3, 3), "float32")
    ) -> R.Tensor(("n", 4, "h", "w"), "float32"):
        n = T.int64()
        h = T.int64()
        w = T.int64()
        with R.dataflow():
            c: R.Tensor((n, 4, h, w), "float32") = R.nn.conv2d(x, k, padding=[1, 1])
            gv: R.Tensor((n, 4, h, w), "float32") = R.nn.relu(c)
            R.output(gv)
        return gv


def machine() -> relax.VirtualMachine:
    mod = relax.transform.BindParams("main", {"k": WEIGHT})(Picture)
    return relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())


def picture(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def test_a_variant_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_CACHE_DIR", str(tmp_path))
    vm = machine()
    main = vm["main"]
    x, other = picture(1, 2, 9, 7), picture(2, 2, 5, 6)
    before, apart = main(x).numpy(), main(other).numpy()
    vm.specialize({"x": x.shape})
    (one,) = vm.report().variants
    assert (one.state, one.origin, one.shapes) == ("ready", "asked for", {"x": (1, 2, 9, 7)})
    np.testing.assert_allclose(main(x).numpy(), before, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(main(other).numpy(), apart)
    assert one.after.calls == 1
    vm.specialize({"x": x.shape})  # there is one already
    assert len(vm.report().variants) == 1

    # another machine of the same program finds it in the cache
    def refuse(*given: object) -> bytes:
        raise AssertionError("compiled again")

    monkeypatch.setattr(variants, "_compiled_apart", refuse)
    again = machine()
    again.specialize([{"x": x.shape}])
    np.testing.assert_allclose(again["main"](x).numpy(), before, rtol=1e-5, atol=1e-5)


def test_a_hot_size_compiles_beside_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot_sizes, "HOT_SECONDS", 0.0)
    monkeypatch.setattr(hot_sizes, "MIN_SECONDS", 0.0)
    vm = machine()
    main = vm["main"]
    x = picture(1, 2, 4, 4)
    before = main(x).numpy()
    (one,) = vm.report().variants
    for _ in range(6000):
        main(x)
        if one.state != "compiling":
            break
        time.sleep(0.1)
    assert (one.state, one.origin, one.found) == ("ready", "hot", "")
    np.testing.assert_allclose(main(x).numpy(), before, rtol=1e-5, atol=1e-5)


def test_requests_that_cannot_be_carried_out(tmp_path: Path) -> None:
    vm = machine()
    with pytest.raises(ValueError, match="no value for n, h, w"):
        vm.specialize({})
    with pytest.raises(ValueError, match="no input 'y'"):
        vm.specialize({"y": (1,)})
    path = str(tmp_path / "picture.so")
    vm.module.export_library(path)
    loaded = relax.VirtualMachine(tvm.runtime.load_module(path), tvm.cpu())
    with pytest.raises(TVMError, match="whose source is not here"):
        loaded.specialize({"x": (1, 2, 3, 3)})
    assert "not watched" in str(loaded.report())


def test_a_process_that_fails_tells_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TVM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(variants, "GRAPH", "elsewhere.json")  # not where the process looks
    vm = machine()
    with pytest.raises(TVMError, match=r"(?s)not compiled.*graph\.json"):
        vm.specialize({"x": (1, 2, 3, 3)})
    assert vm["main"](picture(1, 2, 3, 3)).numpy().shape == (1, 4, 3, 3)


def test_configurations_that_are_no_plain_data_are_refused() -> None:
    with tvm.transform.PassContext(config={"tir.add_lower_pass": [(1, NOTHING)]}):
        vm = machine()
    with pytest.raises(TVMError, match="pass configuration"):
        vm.specialize({"x": (1, 2, 3, 3)})
