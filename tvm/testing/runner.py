"""Export a module, load it again and run it, here or on a machine that a tracker lends.

    results, timing = local_run(built, "cpu", [a, b, out])
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from tvm.contrib.cc import cross_compiler
from tvm.contrib.tar import tar
from tvm.error import message
from tvm.runtime import Device, Module, Tensor, device, tensor
from tvm.runtime.benchmark import BenchmarkResult
from tvm.runtime.module import load_own

ExportFunc = Callable[[Any, str], Any]


class EvaluatorConfig(Protocol):
    """How a function is measured; the record of `tvm.meta_schedule.runner` is one."""

    @property
    def number(self) -> int:
        """Runs whose average is one measurement."""

    @property
    def repeat(self) -> int:
        """Measurements."""

    @property
    def min_repeat_ms(self) -> int:
        """A measurement takes at least so long; `number` grows until it does."""

    @property
    def enable_cpu_cache_flush(self) -> bool:
        """The caches are emptied before each measurement."""


_FLUSH_BYTES: Final = 64 << 20          # more than the caches of usual CPUs hold


class _Defaults(NamedTuple):
    number: int = 3
    repeat: int = 1
    min_repeat_ms: int = 100
    enable_cpu_cache_flush: bool = False


def local_run(
    mod: Any,
    device_type: str,
    args: Sequence[Any],
    evaluator_config: EvaluatorConfig | None = None,
    export_func: ExportFunc | str = "tar",
    output_format: str | None = None,
) -> tuple[list[Any], BenchmarkResult]:
    """The arguments after one run of the exported module here, arrays of numpy, and its times.

    `export_func` is "tar", "ndk", or `export(mod, path)` for a file with suffix `output_format`.
    """
    config = _Defaults() if evaluator_config is None else evaluator_config
    export, suffix = _export(export_func, output_format)
    dev = device(device_type, 0)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / f"tvm_tmp_mod.{suffix}")
        export(mod, path)
        loaded = load_own(path)
        device_args = [_on_device(arg, dev) for arg in args]
        timing = measured(loaded, dev, device_args, config)
        loaded(*device_args)
        return [_to_host(arg) for arg in device_args], timing


class RPCConfig(Protocol):
    """How a machine is reached; the record of `tvm.meta_schedule.runner` is one."""

    def connect_server(self) -> Any:
        """A session on a server, ready to load modules."""


class _Tracker:
    """A machine of the tracker that the environment names."""

    def connect_server(self) -> Any:
        from tvm import rpc  # only those who run elsewhere need it

        names = ("TVM_TRACKER_HOST", "TVM_TRACKER_PORT", "TVM_TRACKER_KEY")
        missing = [name for name in names if not os.environ.get(name)]
        if missing:
            raise ValueError(
                message(
                    "rpc_run without an rpc_config",
                    found=f"no environment variable {', '.join(missing)}",
                    legal="the host, the port and the key of a tracker in the environment",
                )
            )
        host, port, key = (os.environ[name] for name in names)
        return rpc.connect_tracker(host, int(port)).request(key, session_timeout=300)


def rpc_run(
    mod: Any,
    device_type: str,
    args: Sequence[Any],
    evaluator_config: EvaluatorConfig | None = None,
    rpc_config: RPCConfig | None = None,
    export_func: ExportFunc | str = "tar",
    output_format: str | None = None,
) -> tuple[list[Any], BenchmarkResult]:
    """As `local_run`, on a server that `rpc_config` reaches, or a tracker of the environment."""
    config = _Defaults() if evaluator_config is None else evaluator_config
    export, suffix = _export(export_func, output_format)
    session = (rpc_config or _Tracker()).connect_server()
    name = f"tvm_tmp_mod.{suffix}"
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / name)
        export(mod, path)
        session.upload(path)
    dev = session.device(device_type, 0)
    loaded = session.load_module(name)
    device_args = [_on_device(arg, dev) for arg in args]
    timing = measured(loaded, dev, device_args, config)
    loaded(*device_args)
    return [_to_host(arg) for arg in device_args], timing


def measured(
    mod: Module, dev: Device, args: Sequence[Any], config: EvaluatorConfig
) -> BenchmarkResult:
    """How long the module's entry takes."""
    return mod.time_evaluator(
        mod.entry_name, dev, number=config.number, repeat=config.repeat,
        min_repeat_ms=config.min_repeat_ms,
        cache_flush_bytes=_FLUSH_BYTES if config.enable_cpu_cache_flush else 0,
    )(*args)  # fmt: skip


def _export(given: ExportFunc | str, suffix: str | None) -> tuple[ExportFunc, str]:
    """How a module becomes a file, and the suffix of the file."""
    if callable(given):
        if suffix is None:
            raise ValueError(
                message(
                    "export a module",
                    found="a function of the caller's, and no output_format",
                    legal='the suffix that the function writes, as output_format="so"',
                )
            )
        return given, suffix
    if given == "tar":
        return (lambda mod, path: mod.export_library(path, fcompile=tar)), "tar"
    if given == "ndk":
        return (lambda mod, path: mod.export_library(path, fcompile=_android_linker())), "so"
    raise ValueError(
        message(
            "export a module",
            found=f"export_func={given!r}",
            legal='"tar", "ndk", or a function',
        )
    )


def _android_linker() -> Callable[..., Any]:
    compiler = os.environ.get("TVM_NDK_CC")
    if not compiler:
        raise RuntimeError(
            message(
                "export a module for Android",
                found="no environment variable TVM_NDK_CC",
                legal="the path of the compiler of a toolchain of Android's NDK in TVM_NDK_CC",
            )
        )
    return cross_compiler(compiler)


def _on_device(arg: Any, dev: Device) -> Any:
    return arg if isinstance(arg, (int, float)) else tensor(_to_host(arg), dev)


def _to_host(arg: Any) -> Any:
    return arg.numpy() if isinstance(arg, Tensor) else arg
