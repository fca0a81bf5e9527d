"""Programs built as one function, and their runner."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.backend import Executor, Runtime
from tvm.runtime.executor import AotModule

pytestmark = pytest.mark.cpu


def test_runs() -> None:
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(2, 3))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.Tuple([x + w, x * w])))
    b = np.full((2, 3), 2, "float32")
    lib = relay.build(
        mod, "llvm", params={"w": b}, executor=Executor("aot", {"unpacked-api": False}),
        runtime=Runtime("cpp"), mod_name="unit",
    )  # fmt: skip
    assert isinstance(lib, relay.backend.executor_factory.AOTExecutorFactoryModule)
    assert lib.get_executor_config() is None
    assert lib.get_devices() == []
    runner = AotModule(lib["unit"](tvm.cpu()))
    a = np.arange(6, dtype="float32").reshape(2, 3)
    runner.run(x=a)
    assert (runner.get_num_inputs(), runner.get_num_outputs()) == (1, 2)
    np.testing.assert_array_equal(runner.get_output(0).numpy(), a + 2)
    out = tvm.nd.array(np.zeros((2, 3), "float32"))
    runner.get_output(1, out)
    np.testing.assert_array_equal(out.numpy(), a * 2)
    assert runner.get_input_index("x") == 0
    assert runner.get_input_name(0) == "x"
    assert runner.get_input_info() == ({"x": (2, 3)}, {"x": "float32"})
    np.testing.assert_array_equal(runner.get_input("x").numpy(), a)
    with pytest.raises(AttributeError, match="no function 'default'; legal: 'unit'"):
        lib["default"]
