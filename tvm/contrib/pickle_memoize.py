"""Results of slow functions, kept for the next call and, if asked for, for the next program.

    @memoize("tests.conv2d", save_at_exit=True)
    def get_ref_data(): ...

A file holds numbers, text, arrays, and tuples, lists and maps of them as plain data, nothing that
runs when it is read. Results of other kinds are kept within the program only.
"""

from __future__ import annotations

import atexit
import functools
import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

import numpy as np

from tvm.error import message
from tvm.runtime.files import write_beside
from tvm.support.json_text import from_json

F = TypeVar("F", bound=Callable[..., Any])
_ALLOWED: Final = (str, int, float, tuple)
_PLAIN: Final = (str, int, float, bool, type(None))


def _get_global_cache_dir() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    root = Path(home) if home else Path.home() / ".cache"
    return root / "tvm" / f"pickle_memoize_py{sys.version_info[0]}"


class Cache:
    """The results of one function by arguments; its file is read when it is first needed."""

    cache_by_key: ClassVar[dict[str, Cache]] = {}

    def __init__(self, key: str, save_at_exit: bool) -> None:
        self.key, self.save_at_exit = key, save_at_exit
        self.dirty = False
        self._cache: dict[Any, Any] | None = None

    @property
    def path(self) -> Path:
        """The file."""
        return _get_global_cache_dir() / self.key

    @property
    def cache(self) -> dict[Any, Any]:
        """What is known."""
        if self._cache is None:
            self._cache = _read(self.path) if self.path.exists() else {}
        return self._cache

    def save(self) -> None:
        """Write what is new."""
        if not self.dirty:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_beside(str(self.path), _written(self.cache))
        self.dirty = False


def memoize(key: str, save_at_exit: bool = False) -> Callable[[F], F]:
    """Call the function once for each list of arguments, and of values that it closes over.

    The name `key` and the function's own say which results belong together.
    """

    def register(func: F) -> F:
        name = f"{key}.{func.__name__}.pkl"
        cache = Cache.cache_by_key.setdefault(name, Cache(name, save_at_exit))
        cells = getattr(func, "__closure__", None) or ()
        closed = tuple(cell.cell_contents for cell in cells)

        @functools.wraps(func)
        def memoized(*args: Any) -> Any:
            asked = (len(closed), *closed, *args)
            _check(func.__name__, asked)
            if asked not in cache.cache:
                cache.cache[asked] = func(*args)
                cache.dirty = True
            return cache.cache[asked]

        return memoized  # type: ignore[return-value]

    return register


def _check(name: str, asked: tuple[Any, ...]) -> None:
    flat = [x for item in asked for x in (item if isinstance(item, tuple) else (item,))]
    for value in flat:
        if not isinstance(value, _ALLOWED):
            raise AssertionError(
                message(
                    f"memoize: call of {name}",
                    found=f"an argument, or a value closed over, of type {type(value).__name__}",
                    legal="text, numbers, tuples of them",
                )
            )


# --- files ---


def _written(cache: dict[Any, Any]) -> bytes:
    arrays: list[np.ndarray[Any, Any]] = []
    entries = []
    for asked, result in cache.items():
        count = len(arrays)
        try:
            entries.append([_packed(asked, arrays), _packed(result, arrays)])
        except TypeError:  # not plain data: stays in this program
            del arrays[count:]
    out = io.BytesIO()
    named = {f"array{n}": array for n, array in enumerate(arrays)}
    np.savez(out, allow_pickle=False, entries=np.array(json.dumps(entries)), **named)
    return out.getvalue()


def _packed(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    if isinstance(value, np.generic):
        value = np.asarray(value)
        arrays.append(value)
        return {"scalar": len(arrays) - 1}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, (tuple, list)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_packed(item, arrays) for item in value]}
    if isinstance(value, dict):
        return {"map": [[_packed(k, arrays), _packed(v, arrays)] for k, v in value.items()]}
    if isinstance(value, _PLAIN):
        return value
    raise TypeError


def _read(path: Path) -> dict[Any, Any]:
    """What a file holds; nothing if it is not one of ours."""
    try:
        with np.load(path, allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
        entries = from_json(str(arrays["entries"]))
        return {_unpacked(asked, arrays): _unpacked(result, arrays) for asked, result in entries}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _unpacked(value: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, held),) = value.items()
    if kind in ("array", "scalar"):
        array = arrays[f"array{held}"]
        return array if kind == "array" else array[()]
    if kind == "map":
        return {_unpacked(k, arrays): _unpacked(v, arrays) for k, v in held}
    items = [_unpacked(item, arrays) for item in held]
    return tuple(items) if kind == "tuple" else items


@atexit.register
def _save_all() -> None:
    for cache in Cache.cache_by_key.values():
        if cache.save_at_exit:
            cache.save()
