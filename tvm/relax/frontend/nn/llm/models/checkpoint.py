"""Files of weights: arrays by name, read when they are asked for; and where parameters are in them.

Models are published as a folder (or file) of safetensors, which the library of its makers reads;
the extra `llm` installs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from tvm.error import ArgumentValueError, message
from tvm.runtime.extras import extra_package
from tvm.support.json_text import from_json

Array = NDArray[Any]
Prepare = Callable[[Array], Array]


class Checkpoint(Protocol):
    """Arrays by name."""

    def __contains__(self, name: object) -> bool: ...

    def __iter__(self) -> Iterator[str]: ...

    def array(self, name: str) -> Array:
        """The values, in the dtype that they are stored in or in float32."""
        ...


@dataclass(frozen=True)
class Source:
    """Where a parameter's values are: arrays one below the other, each prepared."""

    parts: tuple[tuple[str, Prepare], ...]

    def of(self, leaf: str, layer: str) -> Source:
        """The source of a `weight` or a `bias` in a layer."""
        return Source(tuple((f"{name.format(i=layer)}.{leaf}", p) for name, p in self.parts))


def source(*names: str, prepare: Prepare | None = None) -> Source:
    """The arrays of these names, all prepared alike. `prepare` may see vectors: biases."""
    return Source(tuple((name, prepare or as_it_is) for name in names))


def as_it_is(values: Array) -> Array:
    """What is done with arrays that need nothing."""
    return values


class Safetensors:
    """The arrays of one file, or of all files of a folder."""

    def __init__(self, path: str | Path) -> None:
        library = extra_package("safetensors", "llm", "a checkpoint of safetensors")
        self._files = [_opened(library, file) for file in _safetensors(Path(path))]
        self._home = {name: file for file in self._files for name in file.keys()}  # noqa: SIM118

    def __contains__(self, name: object) -> bool:
        return name in self._home

    def __iter__(self) -> Iterator[str]:
        return iter(self._home)

    def array(self, name: str) -> Array:
        """The values, in the dtype that they are stored in."""
        found: Array = self._home[name].get_tensor(name)
        return found


def _opened(library: Any, file: Path) -> Any:
    try:
        return library.safe_open(str(file), framework="numpy")
    except (OSError, library.SafetensorError) as problem:
        raise ArgumentValueError(
            message(f"the file {file}", found=str(problem), legal="a file of safetensors")
        ) from None


def _safetensors(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    index = path / "model.safetensors.index.json"
    if index.is_file():
        try:
            named = set(from_json(index.read_text("utf-8"))["weight_map"].values())
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise ArgumentValueError(
                message(f"the index {index}", found=f"{type(problem).__name__}: {problem}",
                        legal="JSON with an entry weight_map")
            ) from None  # fmt: skip
        return [path / Path(str(name)).name for name in sorted(named)]  # below the folder
    found = sorted(path.glob("*.safetensors"))
    if not found:
        raise ArgumentValueError(
            message(f"weights in {path}", found="no such file or folder of safetensors",
                    legal="a file or a folder with *.safetensors, or a file *.gguf")
        )  # fmt: skip
    return found
