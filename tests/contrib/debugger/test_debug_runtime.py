"""Scripts written before v0.8 import debug_runtime."""

import numpy as np
import pytest

import tvm
from tvm import relay


def test_the_older_name_runs_what_is_built_and_says_the_new_one() -> None:
    from tvm.contrib.debugger import debug_runtime

    x = relay.var("x", shape=(4,), dtype="float32")
    built = relay.build(
        tvm.IRModule.from_expr(relay.Function([x], x + relay.const(1.0))), target="llvm"
    )
    with pytest.warns(DeprecationWarning, match="debug_executor"):
        runner = debug_runtime.create(built.get_graph_json(), built.get_lib(), tvm.cpu())
    runner.run(x=np.arange(4, dtype="float32"))
    np.testing.assert_array_equal(runner.get_output(0).numpy(), [1, 2, 3, 4])
