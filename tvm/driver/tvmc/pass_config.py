"""Options of passes on a command line: `--pass-config relay.FuseOps.max_depth=10`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Final

from tvm.ir.transform import PassContext

from .errors import TVMCException

_TRUE: Final = ("true", "1", "yes")
_FALSE: Final = ("false", "0", "no")
_WHOLE: Final = ("int", "bool", "IntImm")
_WORDS: Final = ("str", "runtime.String")
_PASSES: Final = "tir.add_lower_pass"


def load_function(full_name: str) -> Callable[..., Any]:
    """The function of a name with its module: `tvm.tir.transform.Simplify`."""
    module, _, name = full_name.rpartition(".")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def _passes(name: str, value: str) -> list[tuple[int, Any]]:
    """Passes and the step of lowering that each runs in, from `1,module.Pass,2,module.Pass`."""
    parts = [part.strip() for part in value.split(",")]
    made = []
    for step, full_name in zip(parts[::2], parts[1::2]):
        try:
            made.append((int(step), load_function(full_name)()))
        except (ValueError, ImportError, AttributeError) as error:
            raise TVMCException(
                f"Invalid value '{value}' for configuration '{name}': {error}; legal: "
                "number of a step, pass, ... such as 1,tvm.tir.transform.Simplify"
            ) from error
    if not made or len(parts) % 2:
        raise TVMCException(f"Configuration '{name}' of type list is not supported in TVMC.")
    return made


def get_pass_config_value(name: str, value: str, config_type: str) -> Any:
    """The value of a text for an option of a type: a truth value or a whole number, or the text."""
    if name == _PASSES:
        return _passes(name, value)
    if config_type in _WORDS:
        return value
    if config_type not in _WHOLE:
        raise TVMCException(
            f"Configuration '{name}' has the type {config_type}; legal: bool, int, str"
        )
    if config_type != "int" and value.lower() in (*_TRUE, *_FALSE) and value not in ("0", "1"):
        return value.lower() in _TRUE
    try:
        number = int(value)
    except ValueError as error:
        asked = f"Unsupported value '{value}' for configuration '{name}'"
        raise TVMCException(f"{asked}; legal: true, false, a whole number") from error
    return bool(number) if config_type == "bool" else number


def parse_configs(input_configs: Iterable[str] | None) -> dict[str, Any]:
    """The options that `name=value` pairs set.

    Raises TVMCException for other forms, and for names that no pass has.
    """
    known = PassContext.list_configs()
    options: dict[str, Any] = {}
    for config in input_configs or ():
        name, equals, value = (part.strip() for part in config.partition("="))
        if not name or not equals or "=" in value:
            raise TVMCException(
                f"Invalid format for pass configuration '{config}', use <name>=<value>."
            )
        if name not in known:
            raise TVMCException(f"Configuration '{name}' is not defined in TVM.")
        kind = str(known[name]["type"])
        if kind not in (*_WHOLE, *_WORDS) and name != _PASSES:
            raise TVMCException(f"Configuration '{name}' of type {kind} is not supported in TVMC.")
        options[name] = get_pass_config_value(name, value, kind)
    return options
