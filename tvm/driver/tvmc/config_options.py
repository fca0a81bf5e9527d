"""Arguments from files of JSON: `tvmc compile --config host ...`.

    {"targets": [{"kind": "llvm", "mcpu": "znver4"}], "executor": {"kind": "graph"}}

says what `--target llvm --target-llvm-mcpu znver4 --executor graph` says; what stands on the line
wins.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from .errors import TVMCException

DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "default": {"targets": [{"kind": "llvm"}]},
    "host": {"targets": [{"kind": "llvm"}]},
}
# What `get_configs_json_dir` has found; None: it looks again.
CONFIGS_JSON_DIR: str | None = None


class ConfigsJsonNotFoundError(TVMCException):
    """There is no folder of configurations."""


def get_configs_json_dir() -> str:
    """The folder of the configurations with names: $TVM_CONFIGS_JSON_DIR, or beside the package."""
    global CONFIGS_JSON_DIR
    if CONFIGS_JSON_DIR is None:
        package = Path(__file__).resolve().parents[2]
        beside = [package / "configs", package.parent / "configs"]
        asked = os.environ.get("TVM_CONFIGS_JSON_DIR")
        found = next((f for f in ([Path(asked)] if asked else beside) if f.is_dir()), None)
        if found is None:
            legal = asked or " or ".join(map(str, beside))
            raise ConfigsJsonNotFoundError(
                f"folder of configurations: none; legal: a folder {legal}, or another one that "
                "$TVM_CONFIGS_JSON_DIR names"
            )
        CONFIGS_JSON_DIR = str(found)
    return CONFIGS_JSON_DIR


def find_json_file(name: str, path: str | Path) -> Path | None:
    """The file of that name, its suffix apart, in a folder or below it."""
    return next((file for file in sorted(Path(path).rglob("*.json")) if file.stem == name), None)


def read_and_convert_json_into_dict(config_args: Any) -> dict[str, Any]:
    """What `config_args.config` names: a file, or a configuration that is known by name."""
    name = config_args.config
    if not name.endswith(".json") and name in DEFAULTS:
        return dict(DEFAULTS[name])
    file: Path | None = None
    if not name.endswith(".json"):
        with suppress(ConfigsJsonNotFoundError):
            file = find_json_file(name, get_configs_json_dir())
    try:
        read = json.loads((file or Path(name)).read_text(encoding="utf-8"))
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


def parse_target_from_json(
    one_target: Mapping[str, Any], command_line_list: list[dict[str, Any]]
) -> str:
    """The kind of a target; its options go to the end of the list."""
    kind: str = one_target.get("kind", "")
    command_line_list += [
        {f"target_{kind}_{name}": value} for name, value in one_target.items() if name != "kind"
    ]
    return kind


def convert_config_json_to_cli(json_params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The arguments that a configuration gives, one by one: name in a namespace, and value."""
    values: list[dict[str, Any]] = []
    for key, value in json_params.items():
        if key == "targets":
            kinds = [parse_target_from_json(target, values) for target in value]
            values.append({"target": ", ".join(kinds)})
        elif key in ("executor", "runtime"):
            values.append({key: value["kind"]})
            values += _options(f"{key}_{value['kind']}", value)
        elif key == "pass-config":
            values.append({_name(key): [f"{name}={one}" for name, one in value.items()]})
        elif isinstance(value, Mapping):
            values += _options(key, value)
        else:
            values.append({_name(key): value})
    return values


def _options(prefix: str, value: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{_name(f"{prefix}_{name}"): one} for name, one in value.items() if name != "kind"]


def _name(text: str) -> str:
    return text.replace("-", "_")
