"""Small helpers of the search: worker processes, seeds, keys of modules."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tvm.error import message
from tvm.ffi import get_global_func, register_global_func
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_hash
from tvm.rpc import RPCSession
from tvm.runtime.attributes import host_cores
from tvm.support.derived import derived
from tvm.support.scratch import is_scratch
from tvm.tir.schedule.random_engine import RandomEngine

from .base import _get_default_str as _get_default_str

C = TypeVar("C", bound=type)


def derived_object(cls: C) -> C:
    """Make a class derived from one of the `Py*` bases a part of the search.

    `_cls` of it is the class as written, from which others are derived.
    """
    return derived(cls)


@register_global_func("meta_schedule.cpu_count", override=True)
def cpu_count(logical: bool = True) -> int:
    """Processors that this process may use; cores, not their hardware threads, if not `logical`."""
    return host_cores() if logical else min(_physical_cores() or host_cores(), host_cores())


def _physical_cores() -> int:
    """Cores as Linux lists them: pairs of package and core; 0 where it does not."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return 0
    cores = set()
    for entry in text.split("\n\n"):
        pairs = (line.partition(":") for line in entry.splitlines())
        fields = {name.strip(): value.strip() for name, _, value in pairs}
        if "core id" in fields:
            cores.add((fields.get("physical id", "0"), fields["core id"]))
    return len(cores)


@register_global_func("meta_schedule.print_interactive_table", override=True)
def print_interactive_table(data: str) -> None:
    """Show a table of text, as `TaskScheduler.print_tuning_statistics` writes it."""
    print(data)


def get_global_func_with_default_on_worker(
    name: str | Callable[..., Any] | None, default: Callable[..., Any]
) -> Callable[..., Any]:
    """The function itself, the registered one of that name, or the default for None."""
    if name is None:
        return default
    if callable(name):
        return name
    found: Callable[..., Any] | None = get_global_func(name, allow_missing=True)
    if found is None:
        raise ValueError(
            message(
                f"Function {name!r} is not registered on the worker process",
                legal="a name that `initializer` registers there, or a function",
            )
        )
    return found


def get_global_func_on_rpc_session(
    session: RPCSession, name: str, extra_error_msg: str | None = None
) -> Any:
    """A function of the other end; AttributeError with `extra_error_msg` if it has none."""
    try:
        return session.get_function(name)
    except AttributeError as err:
        raise AttributeError(
            f"Unable to find function {name!r} on the remote RPC server."
            + (f" {extra_error_msg}" if extra_error_msg else "")
        ) from err


@register_global_func("meta_schedule.remove_build_dir", override=True)
def remove_build_dir(artifact_path: str) -> None:
    """Delete a built file with the folder that it was built in.

    A folder that no builder of ours made goes only if nothing else is in it: a builder of somebody
    else's may export to where other files lie.
    """
    folder = os.path.dirname(os.path.abspath(artifact_path))
    if is_scratch(folder):
        shutil.rmtree(folder, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        os.unlink(artifact_path)
        os.rmdir(folder)


def shash2hex(mod: IRModule | None) -> str:
    """The structural hash of a module in hexadecimal; empty for no module."""
    return "" if mod is None else f"{structural_hash(mod):016x}"


def fork_seed(seed: int | None, n: int) -> list[int]:
    """`n` seeds of independent searches, made from one."""
    engine = RandomEngine(seed)
    return [engine.fork() for _ in range(n)]
