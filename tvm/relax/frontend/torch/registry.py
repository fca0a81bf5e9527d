"""Converters: one function an operator of torch, under torch's name and with torch's parameters.

    @convert("leaky_relu")
    def leaky_relu(bb, input, negative_slope=0.01): ...

A converter serves all spellings of its operator: `aten.leaky_relu.default`, its in-place form
`leaky_relu_`, `torch.nn.functional.leaky_relu` and a method of tensors. Tensors arrive as Relax
expressions, sizes as integers or expressions over symbols, dtypes as names. It gives the result,
or a tuple of results, and need not bind them; a result that is a function is computed when it is
used. A converter of modules gets the module first.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

Converter: TypeAlias = "Callable[..., Any]"

_FAMILIES: Final = (
    "activation", "attention", "backward", "complex_numbers", "create", "elementwise", "encoder",
    "equations",
    "fourier", "grouped", "indexing", "integers", "linear", "loss", "modules", "normalize",
    "pad", "pool", "quantize", "random", "recurrent", "reduction", "regions", "resample", "shape",
    "sizes", "slicing", "sorting", "special", "spectra", "statistics", "torchao",
)  # fmt: skip
_FUNCTIONS: Final[dict[str, Converter]] = {}
_MODULES: Final[dict[str, Converter]] = {}
_loaded = False


def convert(*names: str) -> Callable[[Converter], Converter]:
    """Declare the converter of operators, by name: `relu`, or one overload, `max.dim`."""
    return _declare(_FUNCTIONS, names)


def convert_module(*names: str) -> Callable[[Converter], Converter]:
    """Declare the converter of classes of `torch.nn`, by name: `Conv2d`."""
    return _declare(_MODULES, names)


def _declare(table: dict[str, Converter], names: tuple[str, ...]) -> Callable[..., Converter]:
    def register(func: Converter) -> Converter:
        for name in names:
            assert name not in table, f"{name} is declared twice"
            table[name] = func
        return func

    return register


def _load() -> None:
    global _loaded
    if not _loaded:
        for family in _FAMILIES:
            importlib.import_module(f"{__package__}.{family}")
        _loaded = True


def functions() -> dict[str, Converter]:
    """The converters of operators, by name."""
    _load()
    return dict(sorted(_FUNCTIONS.items()))


def modules() -> dict[str, Converter]:
    """The converters of modules, by class name."""
    _load()
    return dict(sorted(_MODULES.items()))


def spellings(name: str) -> Iterator[str]:
    """The names under which an operator may be declared, the most special first.

    `relu_.default`: `relu_.default`, `relu_`, `relu.default`, `relu`.
    """
    packet, _, overload = name.partition(".")
    yield name
    if overload:
        yield packet
    if packet.endswith("_") and not packet.endswith("__"):
        if overload:
            yield f"{packet[:-1]}.{overload}"
        yield packet[:-1]
