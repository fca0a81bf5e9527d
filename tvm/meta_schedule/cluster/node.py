"""What nodes of a cluster do: say what they are, build, measure.

Programs come and go as text and bytes. The work itself is done by a LocalBuilder and a LocalRunner
of the node, so a candidate that crashes or hangs costs a process of theirs and not the node.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from tvm.ir.json import load_json
from tvm.ir.module import IRModule
from tvm.meta_schedule.arg_info import ArgInfo
from tvm.meta_schedule.builder.builder import BuilderInput
from tvm.meta_schedule.builder.local_builder import LocalBuilder
from tvm.meta_schedule.runner.config import EvaluatorConfig
from tvm.meta_schedule.runner.local_runner import LocalRunner
from tvm.meta_schedule.runner.runner import RunnerInput
from tvm.meta_schedule.utils import remove_build_dir
from tvm.support.scratch import scratch_folder
from tvm.target.host_cpu import available_cores
from tvm.target.target import Target

Answer = tuple[Any, "str | None"]  # what was asked for, or why it is not there


def build(module: str, target: str, timeout_sec: float) -> Answer:
    """The compiled file of a module in JSON, as bytes."""
    mod = load_json(module)
    assert isinstance(mod, IRModule), "sent by ClusterBuilder"
    with _cores(shared=True):
        given = BuilderInput(mod, Target(json.loads(target)))
        (result,) = _builder(timeout_sec).build([given])
    if result.artifact_path is None:
        return None, result.error_msg
    try:
        return Path(result.artifact_path).read_bytes(), None
    finally:
        remove_build_dir(result.artifact_path)


def measure(
    artifact: bytes,
    name: str,
    device: str,
    args_info: Sequence[Any],
    config: Sequence[Any],
    timeout_sec: float,
    best_s: float | None,
) -> Answer:
    """The seconds of a compiled file."""
    path = Path(scratch_folder("tvm-build-")) / name
    path.write_bytes(artifact)
    infos = [ArgInfo.from_json(info) for info in args_info]
    try:
        with _cores(shared=False):
            runner = _runner(timeout_sec, tuple(config))
            (future,) = runner.run([RunnerInput(str(path), device, infos, best_s=best_s)])
            result = future.result()
    finally:
        remove_build_dir(str(path))
    seconds = None if result.run_secs is None else [float(s) for s in result.run_secs]
    return seconds, result.error_msg


@functools.cache
def _builder(timeout_sec: float) -> LocalBuilder:
    return LocalBuilder(max_workers=available_cores(), timeout_sec=timeout_sec)


@functools.cache
def _runner(timeout_sec: float, config: tuple[Any, ...]) -> LocalRunner:
    return LocalRunner(timeout_sec=timeout_sec, evaluator_config=EvaluatorConfig(*config))


# --- one measurement at a time ---


@contextlib.contextmanager
def _cores(shared: bool) -> Iterator[None]:
    """Have this machine's cores: with other builds, or alone.

    Whoever waits for them alone stands at the gate, so that builds do not pass it for ever. The
    files are of this set of cores: containers that share a machine do not wait for each other.
    """
    with _locked("gate", alone=True) as gate, _locked("cores", alone=not shared):
        if shared:
            gate.close()
        yield


@contextlib.contextmanager
def _locked(name: str, alone: bool) -> Iterator[IO[bytes]]:
    import fcntl

    cores = "-".join(str(c) for c in sorted(os.sched_getaffinity(0)))[:64]
    path = Path(tempfile.gettempdir()) / f"tvm-{os.getuid()}-{name}-{cores}.lock"
    with open(path, "ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield held
