"""Measuring on servers that a tracker lends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

import tvm
from tests.meta_schedule.programs import Add, Matmul
from tests.meta_schedule.schedules import LLVM
from tvm.meta_schedule.arg_info import ArgInfo
from tvm.meta_schedule.builder.local_builder import default_build, default_export
from tvm.meta_schedule.runner import EvaluatorConfig, RPCConfig, RPCRunner, Runner, RunnerInput
from tvm.meta_schedule.testing.local_rpc import LocalRPC
from tvm.meta_schedule.utils import remove_build_dir

pytestmark = pytest.mark.cpu
ONCE = EvaluatorConfig(number=1, repeat=1, min_repeat_ms=0)


@pytest.fixture(scope="module")
def config() -> Iterator[RPCConfig]:
    with LocalRPC(silent=True) as rpc:
        yield RPCConfig(rpc.tracker_host, rpc.tracker_port, rpc.tracker_key, 1, 6000)


def test_several_files(config: RPCConfig) -> None:
    assert config.count_num_servers() == 1
    inputs = [
        RunnerInput(
            default_export(default_build(mod, LLVM, None)),
            "llvm",
            ArgInfo.from_prim_func(mod["main"]),
        )
        for mod in (Matmul, Add)
    ]
    runner = Runner.create("rpc", config, ONCE)
    results = [future.result() for future in runner.run(inputs)]
    assert [r.error_msg for r in results] == [None, None]
    assert all(t > 0 for r in results for t in r.run_secs)
    for given in inputs:
        remove_build_dir(given.artifact_path)


def _register() -> None:
    @tvm.register_global_func("tests.rpc_runner.sleep", override=True)
    def sleep(rpc_config: Any) -> Any:
        time.sleep(6000)

    @tvm.register_global_func("tests.rpc_runner.fail", override=True)
    def fail(rpc_config: Any) -> Any:
        raise ValueError("no board")


@pytest.mark.parametrize(
    ("name", "timeout_sec", "why"),
    [
        ("sleep", 1, "RPCRunner: Timeout, killed after 1 seconds"),
        ("fail", 6000, "RPCRunner: An exception occurred\n"),
    ],
)
def test_errors_are_results(config: RPCConfig, name: str, timeout_sec: int, why: str) -> None:
    runner = RPCRunner(
        config._replace(session_timeout_sec=timeout_sec),
        ONCE,
        f_create_session=f"tests.rpc_runner.{name}",
        initializer=_register,
    )
    (future,) = runner.run([RunnerInput("test", "llvm", [])])
    result = future.result()
    assert future.done()
    assert result.run_secs is None
    assert result.error_msg.startswith(why)


def test_no_servers(config: RPCConfig) -> None:
    other = config._replace(tracker_key="nobody")
    assert other.count_num_servers() == 0
    with pytest.raises(ValueError, match=r"servers of the key 'nobody'"):
        other.count_num_servers(allow_missing=False)


def test_unknown_function(config: RPCConfig) -> None:
    with pytest.raises(ValueError, match=r"'wrong-name' is not registered on the worker process"):
        RPCRunner(config, f_upload_module="wrong-name")
