"""Constants in a file of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay, runtime

pytestmark = pytest.mark.cpu
LARGE = np.arange(256, dtype="float32").reshape(16, 16)
X = np.ones((16, 16), "float32")


def program() -> Any:
    x = relay.var("x", shape=(16, 16))
    body = relay.nn.dense(x, relay.const(LARGE)) + relay.const(np.ones(16, "float32"))
    return relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x], body)), "llvm")


def result(made: Any) -> Any:
    return runtime.vm.VirtualMachine(made, tvm.cpu()).invoke("main", X).numpy()


def test_large_constants_come_from_their_file(tmp_path: Path) -> None:
    constants, code = str(tmp_path / "constants"), str(tmp_path / "lib.so")
    made = program()
    made.move_late_bound_consts(constants, byte_limit=256)
    made.mod.export_library(code)
    loaded = runtime.load_module(code)
    with pytest.raises(tvm.TVMError, match="constants are elsewhere"):
        result(loaded)
    loaded["load_late_bound_consts"](constants)
    np.testing.assert_allclose(result(loaded), X @ LARGE.T + 1)
    executable = runtime.vm.Executable(runtime.load_module(code))
    executable.load_late_bound_consts(constants)
    np.testing.assert_allclose(result(executable), X @ LARGE.T + 1)


def test_large_constants_come_from_a_map() -> None:
    made = program()
    found = made.get_late_bound_consts(byte_limit=256)
    assert [value.numpy().size for value in found.values()] == [256]
    assert not made.get_late_bound_consts(byte_limit=256)
    with pytest.raises(tvm.TVMError, match="no const_"):
        made.load_late_bound_consts_from_map({})
    made.load_late_bound_consts_from_map(found)
    np.testing.assert_allclose(result(made), X @ LARGE.T + 1)


def test_small_constants_stay(tmp_path: Path) -> None:
    made = program()
    made.move_late_bound_consts(str(tmp_path / "none"), byte_limit=LARGE.nbytes)
    np.testing.assert_allclose(result(made), X @ LARGE.T + 1)
    made.load_late_bound_consts(str(tmp_path / "none"))
    np.testing.assert_allclose(result(made), X @ LARGE.T + 1)
