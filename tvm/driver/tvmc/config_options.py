"""Arguments from files of JSON: `tvmc compile --config host ...`.

    {"targets": [{"kind": "llvm", "mcpu": "znver4"}], "executor": {"kind": "graph"}}

says what `--target llvm --target-llvm-mcpu znver4 --executor graph` says; what stands on the line
wins.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from .errors import TVMCException

DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "default": {"targets": [{"kind": "llvm"}]},
    "host": {"targets": [{"kind": "llvm"}]},
}


def find_json_file(name: str, path: str | Path) -> Path | None:
    """The file of that name, its suffix apart, in a folder or below it."""
    return next((file for file in sorted(Path(path).rglob("*.json")) if file.stem == name), None)


def read_and_convert_json_into_dict(config_args: Any) -> dict[str, Any]:
    """What `config_args.config` names: a file, or a configuration that is known by name."""
    name = config_args.config
    if not name.endswith(".json") and name in DEFAULTS:
        return dict(DEFAULTS[name])
    try:
        read = json.loads(Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        legal = ", ".join(DEFAULTS)
        raise TVMCException(
            f"Configuration {name!r}: {error}; legal: a file with JSON, or {legal}"
        ) from error
    if not isinstance(read, dict):
        raise TVMCException(
            f"Configuration {name!r}: found {type(read).__name__}; legal: an object"
        )
    return read


def convert_config_json_to_cli(json_params: Mapping[str, Any]) -> dict[str, Any]:
    """The values of arguments, by their names in a namespace, that a configuration gives."""
    values: dict[str, Any] = {}
    for key, value in json_params.items():
        if key == "targets":
            values["target"] = ", ".join(target.get("kind", "") for target in value)
            for target in value:
                values |= _options(f"target_{target.get('kind', '')}", target)
        elif key in ("executor", "runtime"):
            values[key] = value["kind"]
            values |= _options(f"{key}_{value['kind']}", value)
        elif isinstance(value, Mapping):
            values |= _options(key, value)
        else:
            values[_name(key)] = value
    return values


def _options(prefix: str, value: Mapping[str, Any]) -> dict[str, Any]:
    return {_name(f"{prefix}_{name}"): one for name, one in value.items() if name != "kind"}


def _name(text: str) -> str:
    return text.replace("-", "_")
