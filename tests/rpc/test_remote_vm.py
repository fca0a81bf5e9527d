"""Relax programs at the other end of a session."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm import relax, rpc
from tvm.error import RPCError, TVMError
from tvm.runtime.linker import get_cc
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = [pytest.mark.cpu, pytest.mark.skipif(get_cc() is None, reason="no C compiler")]


@I.ir_module
class Program:
    @R.function
    def main(
        x: R.Tensor((3, 4), "float32"), w: R.Tensor((4, 5), "float32")
    ) -> R.Tensor((3, 5), "float32"):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.nn.relu(y)
            R.output(z)
        return z

    @R.function
    def pair(x: R.Tensor((3,), "float32")):
        return (x, R.add(x, x))

    @R.function
    def nested(x: R.Tensor((3,), "float32")):
        return (x, (R.add(x, x), (x,)))


def test_all_that_a_machine_does(tmp_path: Path) -> None:
    tvm.compile(Program, target="llvm").export_library(tmp_path / "program.so")
    server = rpc.Server("127.0.0.1", silent=True)
    sess = rpc.connect(server.host, server.port, session_timeout=600)
    sess.upload(str(tmp_path / "program.so"))
    dev = sess.cpu()
    vm = relax.VirtualMachine(sess.load_module("program.so"), device=dev)
    assert isinstance(vm, relax.VirtualMachine)
    rng = np.random.default_rng(0)
    x, w = rng.random((3, 4), "float32") - 0.5, rng.random((4, 5), "float32")
    wanted = np.maximum(x @ w, 0)

    def check(result: tvm.runtime.Tensor) -> None:
        np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-5, atol=1e-6)

    check(vm["main"](tvm.runtime.tensor(x, dev), tvm.runtime.tensor(w, dev)))
    check(vm["main"](x, w))
    first, second = vm["pair"](np.ones(3, "float32"))
    assert second.numpy().tolist() == [2.0] * 3
    assert first.device == dev
    vm.set_input("main", x, w=tvm.runtime.tensor(w, dev))
    vm.invoke_stateful("main")
    check(vm.get_outputs("main"))
    vm.set_input("nested", np.ones(3, "float32"))
    vm.invoke_stateful("nested")
    one, (two, three) = outputs = vm.get_outputs("nested")
    assert [type(part) for part in (outputs, outputs[1], three)] == [tuple] * 3
    assert [part.numpy()[0] for part in (one, two, *three)] == [1.0, 2.0, 1.0]
    vm.save_function("main", "saved", x, w)
    check(vm["saved"]())
    assert len(vm.time_evaluator("main", dev, number=2, repeat=3)(x, w).results) == 3
    assert "Duration" in str(vm.profile("main", x, w))
    with pytest.raises(RPCError, match="no function of this name"):
        vm["nope"]
    with pytest.raises(RPCError, match="the function has not run"):
        vm.get_outputs("pair")
    with pytest.raises(TVMError, match="other end of a session"):
        vm.set_instrument(lambda *_: 0)
    server.terminate()
