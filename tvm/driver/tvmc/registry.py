"""Executors and runtimes on a command line: `--executor aot --executor-aot-unpacked-api 1`."""

from __future__ import annotations

import argparse
from typing import Any, TypeVar

from tvm.relay.backend.named_options import NamedOptions

from .errors import TVMCException

Entity = TypeVar("Entity", bound=NamedOptions)


def _flag(registry: type[NamedOptions]) -> str:
    return registry.__name__.lower()


def _whole(text: str) -> int:
    words = {"true": 1, "false": 0}
    return words[text.lower()] if text.lower() in words else int(text)


def generate_registry_args(
    parser: argparse.ArgumentParser,
    registry: type[NamedOptions],
    default_value: str | None = None,
) -> None:
    """Let the parser take a name of the registry, and each name's options."""
    flag, names = _flag(registry), registry.list_registered()
    group = parser.add_argument_group(f"{flag} options")
    group.add_argument(
        f"--{flag}",
        default=default_value,
        help=f"{registry.__name__} to compile the model with",
    )
    for name in names:
        for option, kind in registry.KNOWN[name].items():
            group.add_argument(
                f"--{flag}-{name}-{option}",
                type=str if kind.endswith("String") else _whole,
                help=f"{registry.__name__} {name} {option}",
            )


def reconstruct_registry_entity(args: argparse.Namespace, registry: type[Entity]) -> Entity | None:
    """What the arguments ask of the registry; None without a name.

    Raises TVMCException for other names, and for options of a name that was not chosen.
    """
    flag = _flag(registry)
    chosen = getattr(args, flag, None)
    if chosen is None:
        return None
    if chosen not in registry.list_registered():
        legal = ", ".join(registry.list_registered())
        raise TVMCException(f'{registry.__name__} "{chosen}" is not defined; legal: {legal}')
    options: dict[str, Any] = {}
    for name in registry.list_registered():
        for option in registry.KNOWN[name]:
            value = getattr(args, f"{flag}_{name}_{option}".replace("-", "_"), None)
            if value is None:
                continue
            if name != chosen:
                raise TVMCException(
                    f"Passed --{flag}-{name}-{option} but did not specify {name} {flag}"
                )
            options[option] = value
    return registry(chosen, options)
