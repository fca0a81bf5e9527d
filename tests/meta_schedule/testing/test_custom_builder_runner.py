"""A compiled module on a server."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.meta_schedule.programs import Matmul
from tvm.meta_schedule.runner import RPCConfig
from tvm.meta_schedule.testing.custom_builder_runner import run_module_via_rpc
from tvm.meta_schedule.testing.local_rpc import LocalRPC

pytestmark = pytest.mark.cpu


def test_computes_there() -> None:
    target = tvm.target.Target("llvm --num-cores=2")
    a, b = np.random.default_rng(0).random((2, 64, 64), "float32")
    args = {"a": a, "b": b, "c": np.zeros((64, 64), "float32")}

    def run(rt_mod: Any, dev: Any, given: Any) -> Any:
        rt_mod(given["a"], given["b"], given["c"])
        return given["c"]

    with LocalRPC(silent=True) as rpc:
        config = RPCConfig(rpc.tracker_host, rpc.tracker_port, rpc.tracker_key, 1, 100)
        kernel = tvm.compile(Matmul["main"], target)
        result = run_module_via_rpc(config, kernel, target.kind.name, args, run)
        np.testing.assert_allclose(result.numpy(), a @ b, rtol=1e-3)
