"""How values are brought from one scale to another: rounding, and the type to compute in."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from typing_extensions import Self

from tvm.error import TVMError, message

_ROUNDING: Final = ("UPWARD", "TONEAREST")
_COMPUTE: Final = ("int64", "float32", "float64")


class RequantizeConfig:
    """A scope: `with requantize_config(rounding="TONEAREST"): ...`.

    UPWARD rounds halves to the greater integer, TONEAREST away from zero.
    """

    _stack: ClassVar[list[RequantizeConfig]] = []

    def __init__(self, rounding: str = "UPWARD", compute_dtype: str = "int64") -> None:
        _one_of("rounding", rounding, _ROUNDING)
        _one_of("compute_dtype", compute_dtype, _COMPUTE)
        self.rounding = rounding
        self.compute_dtype = compute_dtype

    def __enter__(self) -> Self:
        RequantizeConfig._stack.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        RequantizeConfig._stack.pop()


def _one_of(name: str, value: str, legal: tuple[str, ...]) -> None:
    if value not in legal:
        raise TVMError(
            message(f"requantize: {name}={value!r}", found=value, legal=", ".join(legal))
        )


_DEFAULT: Final = RequantizeConfig()


def current_requantize_config() -> RequantizeConfig:
    """The configuration of the scope."""
    return RequantizeConfig._stack[-1] if RequantizeConfig._stack else _DEFAULT


def requantize_config(**kwargs: Any) -> RequantizeConfig:
    """A scope with another `rounding` or `compute_dtype`."""
    legal = ("rounding", "compute_dtype")
    for name in kwargs:
        _one_of("option", name, legal)
    current = current_requantize_config()
    return RequantizeConfig(**{**{key: getattr(current, key) for key in legal}, **kwargs})


def chosen(rounding: str, compute_dtype: str) -> tuple[str, str]:
    """The options of a call; "None" takes those of the scope."""
    current = current_requantize_config()
    rounding = current.rounding if rounding == "None" else rounding
    compute = current.compute_dtype if compute_dtype == "None" else compute_dtype
    _one_of("rounding", rounding, _ROUNDING)
    _one_of("compute_dtype", compute, _COMPUTE)
    return rounding, compute
