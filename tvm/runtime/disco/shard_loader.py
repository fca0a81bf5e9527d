"""Parameters from files, shared out among workers: a part to each, the whole to all.

Worker 0 reads a parameter, functions by name bring it into the form (workers, ...), and each worker
gets its row. The description of files is that of `tvm.contrib.tvmjs.dump_tensor_cache`:

    {"w": [["my.split_columns", [[2, 64, 32], "float16"], 2]]}

says by name which functions to apply in turn, each with its result's type and further arguments.
Parts that were written one by one are parameters called `w_shard-1-of-2` and so on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tvm.error import TVMError, message
from tvm.ffi import get_global_func, register_global_func
from tvm.ffi.object import Object
from tvm.runtime._device import Device
from tvm.runtime._tensor import Tensor, empty, tensor
from tvm.runtime.module import Module
from tvm.runtime.vm_builtin_cache import file_within, record_values
from tvm.support.json_text import from_json

from .builtins import broadcast_from_worker0, scatter_from_worker0
from .worker import Worker, current_worker

_SHARD: Final = re.compile(r"(.*)_shard-(\d+)(?:-of-(\d+))?")


class _Step(NamedTuple):
    """One function on the way to the shards of a parameter."""

    name: str
    mod: Module | None
    shape: tuple[int, ...]
    dtype: str
    args: tuple[Any, ...]

    def func(self) -> Callable[..., Any]:
        """Looked up when it is needed, which is on worker 0 only."""
        if self.mod is not None and self.mod.implements_function(self.name):
            found: Callable[..., Any] = self.mod.get_function(self.name)
            return found
        by_name: Callable[..., Any] = get_global_func(self.name)
        return by_name


class _Param(NamedTuple):
    """Where a parameter lies, and how it is shared out."""

    record: dict[str, Any]
    file: Path
    nbytes: int
    steps: tuple[_Step, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.record["shape"])


class ShardLoader(Object):
    """A worker's way to the parameters of a folder."""

    def __init__(
        self, path: str, metadata: str, shard_info: str, mod: Module | None = None
    ) -> None:
        folder, info = Path(path).parent, from_json(shard_info) if shard_info else {}
        self.params: list[_Param] = []
        for shard in from_json(metadata)["records"]:
            for record in shard["records"]:
                steps = tuple(_step(given, mod) for given in info.get(record["name"], ()))
                file = file_within(folder, shard["dataPath"])
                self.params.append(_Param(record, file, int(shard["nbytes"]), steps))
        self._file: tuple[Path, bytes] | None = None  # the last one read: neighbours come next

    def _at(self, index: int) -> _Param:
        found: _Param = _one_of(self.params, index)
        return found

    def _read(self, param: _Param, dev: Device) -> Tensor:
        if self._file is None or self._file[0] != param.file:
            data = param.file.read_bytes()
            if len(data) != param.nbytes:
                raise TVMError(
                    message(
                        f"ShardLoader: {param.file.name}",
                        found=f"{len(data)} bytes",
                        legal=f"{param.nbytes} bytes",
                    )
                )
            self._file = param.file, data
        start = param.record["byteOffset"]
        raw = self._file[1][start : start + param.record["nbytes"]]
        return tensor(record_values(param.record, raw), dev)

    # --- what workers do together ---

    def load(self, index: int) -> Tensor:
        """A parameter's part for this worker; the whole where nothing says how to share it out."""
        worker, param = current_worker(), self._at(index)
        count = param.steps[-1].shape[0] if param.steps else worker.num_workers
        if count != worker.num_workers:
            raise TVMError(
                message(
                    f"ShardLoader: parameter {param.record['name']!r}",
                    found=f"{count} shards for {worker.num_workers} workers",
                    legal="as many as there are workers",
                )
            )
        dev = worker.default_device
        whole = self._read(param, dev) if worker.worker_id == 0 else None
        if not param.steps:
            mine = empty(param.shape, str(param.record["dtype"]), dev)
            broadcast_from_worker0(whole, False, mine)
            return mine
        last = param.steps[-1]
        mine = empty(last.shape[1:], last.dtype, dev)
        scatter_from_worker0(None if whole is None else self._shards(whole, param), False, mine)
        return mine

    def _shards(self, whole: Tensor, param: _Param) -> Tensor:
        for step in param.steps:
            made = empty(step.shape, step.dtype, whole.device)
            step.func()(whole, *step.args, made)
            whole = made
        return whole

    def load_all(self) -> tuple[Tensor, ...]:
        """All parameters in the order of the files."""
        return tuple(self.load(index) for index in range(len(self.params)))

    # --- what each worker does alone ---

    def load_on_worker0(self, index: int) -> Tensor:
        """The whole parameter on worker 0, a tensor to be filled on the others."""
        worker, param = current_worker(), self._at(index)
        if worker.worker_id == 0:
            return self._read(param, worker.default_device)
        return empty(param.shape, str(param.record["dtype"]), worker.default_device)

    def load_presharded(self, index: int) -> Tensor:
        """This worker's part of a parameter whose parts were written one by one."""
        worker = current_worker()
        return self._read_part(_one_of(self._by_name(), index), worker)

    def load_all_presharded(self) -> tuple[Tensor, ...]:
        """This worker's parts of all parameters."""
        worker = current_worker()
        return tuple(self._read_part(parts, worker) for parts in self._by_name())

    def _by_name(self) -> list[list[_Param]]:
        """The parts of each parameter in order; a single one that is whole."""
        found: dict[str, list[_Param]] = {}
        for param in self.params:
            name = param.record["name"]
            part = _SHARD.fullmatch(name)
            found.setdefault(part[1] if part else name, []).append(param)
        return [sorted(parts, key=_number) for parts in found.values()]

    def _read_part(self, parts: list[_Param], worker: Worker) -> Tensor:
        if _SHARD.fullmatch(parts[0].record["name"]) is None:
            return self._read(parts[0], worker.default_device)
        if len(parts) != worker.num_workers:
            raise TVMError(
                message(
                    f"ShardLoader: {parts[0].record['name']!r}",
                    found=f"{len(parts)} parts for {worker.num_workers} workers",
                    legal="as many as there are workers",
                )
            )
        return self._read(parts[worker.worker_id], worker.default_device)


def _number(param: _Param) -> int:
    part = _SHARD.fullmatch(param.record["name"])
    return int(part[2]) if part else 0


def _one_of(params: list[Any], index: int) -> Any:
    if not 0 <= index < len(params):
        raise TVMError(
            message(
                "ShardLoader",
                found=f"parameter {index}",
                legal=f"0 to {len(params) - 1}" if params else "none: the folder has none",
            )
        )
    return params[index]


def _step(given: Sequence[Any], mod: Module | None) -> _Step:
    name, (shape, dtype), *args = given
    return _Step(str(name), mod, tuple(map(int, shape)), str(dtype), tuple(args))


# --- by name ---


def _register(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return register_global_func(f"runtime.disco.{name}", override=True)


@_register("ShardLoader")
def shard_loader(path: str, metadata: str, shard_info: str, mod: Any = None) -> ShardLoader:
    """A loader for the files that `metadata`, the content of the file `path`, describes."""
    return ShardLoader(str(path), str(metadata), str(shard_info), mod)


@_register("ShardLoaderLoad")
def shard_loader_load(loader: ShardLoader, index: Sequence[int]) -> Tensor:
    """This worker's part of a parameter."""
    return loader.load(_first(index))


@_register("ShardLoaderLoadAll")
def shard_loader_load_all(loader: ShardLoader) -> tuple[Tensor, ...]:
    """This worker's parts of all parameters."""
    return loader.load_all()


@_register("ShardLoaderLoadParamOnWorker0")
def shard_loader_load_param_on_worker0(loader: ShardLoader, index: Sequence[int]) -> Tensor:
    """The whole parameter on worker 0."""
    return loader.load_on_worker0(_first(index))


@_register("ShardLoaderLoadPresharded")
def shard_loader_load_presharded(loader: ShardLoader, index: Sequence[int]) -> Tensor:
    """This worker's part of a parameter whose parts were written one by one."""
    return loader.load_presharded(_first(index))


@_register("ShardLoaderLoadAllPresharded")
def shard_loader_load_all_presharded(loader: ShardLoader) -> tuple[Tensor, ...]:
    """This worker's parts of all parameters, written one by one."""
    return loader.load_all_presharded()


def _first(index: Sequence[int] | int) -> int:
    return index if isinstance(index, int) else int(index[0])
