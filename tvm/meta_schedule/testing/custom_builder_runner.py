"""Run a compiled module once on a server that a tracker lends."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from tvm.meta_schedule.runner import RPCConfig
from tvm.runtime import Device, Executable, Module, tensor

_NAME = "tvm_tmp_mod.tar"


def run_module_via_rpc(
    rpc_config: RPCConfig,
    lib: Module | Executable,
    dev_type: str,
    args: Mapping[int, npt.NDArray[Any]] | Mapping[str, npt.NDArray[Any]],
    continuation: Callable[[Module, Device, dict[Any, Any]], Any],
) -> Any:
    """What `continuation(module, device, args)` returns, with all three at the server."""
    session = rpc_config.connect_server()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _NAME
        lib.export_library(str(path))
        session.upload(str(path))
    module, dev = session.load_module(_NAME), session.device(dev_type, 0)
    return continuation(module, dev, {key: tensor(value, dev) for key, value in args.items()})
