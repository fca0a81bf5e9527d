"""Targets in their written forms: option strings, dicts, JSON, tags."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, cast

from tvm.error import TargetError, message
from tvm.support.json_text import from_json
from tvm.support.suggest import did_you_mean

from .gpu_model import check_sm, is_rdna
from .kind import CUDA, ROCM, TargetKind, find_kind
from .tag import find_tag

Config = dict[str, Any]


def parse_target(text: str) -> Config:
    """The configuration that a string stands for: JSON, a tag, or `kind -option=value ...`."""
    stripped = text.strip()
    if not stripped:
        raise TargetError(message("Target: the text is empty", legal="'llvm', 'cuda', a tag, JSON"))
    if stripped.startswith("{"):
        try:
            config = from_json(stripped)
        except ValueError as err:
            raise TargetError(message("Target: not a JSON object", found=str(err))) from None
        return dict(config)
    tagged = find_tag(stripped)
    if tagged is not None:
        return tagged
    return _parse_options(stripped)


def _parse_options(text: str) -> Config:
    words = shlex.split(text)
    kind = find_kind(words[0])
    config: Config = {"kind": kind.name}
    i = 1
    while i < len(words):
        word = words[i]
        i += 1
        if not word.startswith("-"):
            raise TargetError(
                message(
                    f"Target {text!r}: an option starts with '-'",
                    found=repr(word),
                    legal="-name=value, -name value",
                )
            )
        name, equals, value = word.lstrip("-").partition("=")
        if not equals:
            if i < len(words) and not _is_option(words[i]):
                value = words[i]
                i += 1
            elif option_of(kind, name) == "bool":
                value = "1"
            else:
                raise TargetError(
                    message(
                        f"Target {kind}: option {name!r} needs a value",
                        found=f"{text!r}, where nothing follows it",
                        legal=f"-{name}=value, -{name} value",
                    )
                )
        if not (name and value):
            raise TargetError(
                message(
                    f"Empty attribute key or value in {word.lstrip('-')!r}",
                    found=repr(text),
                    legal="-name=value",
                )
            )
        if name in config:
            raise TargetError(f"Target {text!r}: option {name!r} is given twice")
        config[name] = _from_text(kind, name, value)
    return config


def _is_option(word: str) -> bool:
    return word.startswith("-") and not word[1:2].isdigit()


def _from_text(kind: TargetKind, name: str, value: str) -> Any:
    option_type = option_of(kind, name)
    if option_type == "int":
        return _number(kind, name, value)
    if option_type == "bool":
        if value.lower() in ("1", "true"):
            return True
        if value.lower() in ("0", "false"):
            return False
        raise _refuse(kind, name, value, "true, false, 1 or 0")
    if option_type == "strings":
        return [item for item in value.split(",") if item]
    if option_type == "target":
        return parse_target(value)
    if option_type == "targets":
        return [item for item in value.split(",") if item]
    if option_type == "map":
        raise _refuse(kind, name, value, "an object; use a dict or JSON")
    return value


def _number(kind: TargetKind, name: str, value: str) -> int:
    try:
        return int(value, 0)
    except ValueError:
        raise _refuse(kind, name, value, "an integer") from None


def _refuse(kind: TargetKind, name: str, value: object, legal: str) -> TargetError:
    return TargetError(message(f"Target {kind}: option {name!r}", found=repr(value), legal=legal))


def option_of(kind: TargetKind, name: str) -> str:
    """The type of an option; a TargetError offers the nearest name otherwise."""
    known = kind.options
    if not isinstance(name, str):
        raise TargetError(message(f"Target {kind}: an option", found=repr(name), legal="a name"))
    if name not in known:
        raise TargetError(
            message(
                f"Target kind {kind.name!r} has no option {name!r}{did_you_mean(name, known)}",
                legal=", ".join(known),
            )
        )
    return known[name]


_CHECKS: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "bool": (bool, int),
    "string": (str,),
    "strings": (list, tuple),
    "map": (Mapping,),
    "targets": (list, tuple),
}


def _is_of_type(value: object, option_type: str) -> bool:
    legal = _CHECKS.get(option_type)
    if legal is not None and not isinstance(value, legal):
        return False
    return option_type != "strings" or all(isinstance(item, str) for item in cast(Any, value))


def check_options(kind: TargetKind, config: Mapping[str, Any]) -> Config:
    """The options of a configuration in their declared types, without kind, tag, keys and host."""
    attrs: Config = {}
    for name, value in config.items():
        if name in ("kind", "host"):
            continue
        option_type = option_of(kind, name)
        if not _is_of_type(value, option_type):
            raise _refuse(kind, name, value, f"a value of type {option_type}")
        if name in ("tag", "keys"):
            continue
        if option_type == "bool":
            value = bool(value)
        elif option_type == "strings":
            value = tuple(value)
        attrs[name] = value
    if kind.device_type == CUDA:
        for name in ("arch", "mcpu"):
            check_sm(kind.name, str(attrs.get(name, "")))
    if kind.device_type == ROCM and is_rdna(str(attrs.get("mcpu", ""))):
        attrs.setdefault("thread_warp_size", 32)
    for name, default in kind.defaults.items():
        attrs.setdefault(name, default)
    return attrs
