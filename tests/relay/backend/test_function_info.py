"""What is noted of a build's functions: bytes of arguments, between kernels, of constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.backend import Executor

pytestmark = pytest.mark.cpu


def noted(body: Any, executor: str = "graph") -> dict[str, tuple[int, ...]]:
    func = relay.Function(list(relay.analysis.free_vars(body)), body)
    lib = relay.build(tvm.IRModule.from_expr(func), "llvm", executor=Executor(executor))
    found = lib.function_metadata
    return {
        name: tuple(
            next(iter(sizes.values()))
            for sizes in (info.workspace_sizes, info.io_sizes, info.constant_sizes)
        )
        for name, info in found.items()
    }


X, Y = (relay.var(name, shape=(2, 3)) for name in "xy")
MAIN, SOFTMAX = "__tvm_main__", "tvmgen_default_fused_nn_softmax"


def test_inputs_and_results_are_arguments() -> None:
    assert noted(X + Y) == {MAIN: (0, 72, 0), "tvmgen_default_fused_add": (0, 24, 0)}
    assert noted(relay.cast(X, "int8"))[MAIN] == (0, 30, 0)
    assert noted(X) == {MAIN: (0, 24, 0)}


def test_values_between_kernels_share_storages() -> None:
    body, seen = X, []
    for _ in range(4):
        body = relay.nn.softmax(body)
        found = noted(body)
        assert list(found) == [MAIN, SOFTMAX]  # equal kernels are one
        seen.append(found[MAIN])
    assert seen == [(0, 48, 0), (24, 48, 0), (48, 48, 0), (48, 48, 0)]
    assert noted(relay.Tuple([relay.nn.softmax(X), X + Y]))[MAIN] == (48, 144, 0)


def test_constants_stand_apart() -> None:
    body = relay.nn.softmax(X + relay.const(np.ones((2, 3), "float32")))
    assert noted(body)[MAIN] == (24, 48, 24)
    assert noted(X + relay.const(1.0))[MAIN] == (0, 48, 0)  # a number is part of the code


def test_ahead_of_time_every_value_is_an_argument() -> None:
    assert noted(relay.nn.softmax(relay.nn.softmax(X)), "aot")[MAIN] == (48, 72, 0)
    assert noted(X + Y, "aot")[MAIN] == (24, 72, 0)


def test_functions_are_told_in_both_forms() -> None:
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([X], relay.nn.softmax(X))), "llvm")
    info = lib.function_metadata[SOFTMAX]
    (lowered,), (source,) = info.tir_primfuncs.values(), info.relay_primfuncs.values()
    assert lowered.attrs["global_symbol"] == SOFTMAX
    assert source.body.op.name == "nn.softmax"
    assert not lib.function_metadata[MAIN].tir_primfuncs
    assert "workspace_sizes=[0]" in repr(lib.function_metadata[MAIN])
    assert "moon" not in lib.function_metadata
