"""Targets on a command line: `--target "cutlass, cuda -arch=sm_80" --target-cuda-arch=sm_90`."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tvm.error import TVMError
from tvm.target import Target, TargetKind

from .errors import TVMCException

Options = Mapping[str, Mapping[str, Any]]

_TOKENS: Final = re.compile(
    r"""-{1,2}[\w-]+=(?:'[^']*'|"[^"]*"|[^\s,]+(?:,(?=[^\s,])[^\s,]+)*)"""   # an option, its value
    r"|-{0,2}[^\s,=]+"                                                       # a flag or a name
    r"|,"
)  # fmt: skip
_NOT_ASKED: Final = ("keys", "host", "tag", "feature")  # told by other means, or no text
_READ: Final = {"int": int, "bool": int, "string": str, "strings": str}


def tokenize_target(target: str) -> list[str]:
    """Names, options and the commas between targets; commas inside of a value stay in it."""
    return _TOKENS.findall(target)


def parse_target(target: str) -> list[dict[str, Any]]:
    """The targets of a text: of each `name`, `opts`, its own text `raw`, `is_tvm_target`."""
    kinds, parts = Target.list_kinds(), [[]]  # type: tuple[list[str], list[list[str]]]
    for token in tokenize_target(target):
        if token == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    found = []
    for name, *options in (part for part in parts if part):
        wrong = [option for option in options if not option.startswith("-")]
        if wrong or name.startswith("-"):
            raise TVMCException(
                f"in target {target!r}: {(wrong or [name])[0]!r} is no option of a target"
            )
        found.append({
            "name": name,
            "opts": dict(map(_option, options)),
            "raw": " ".join([name, *options]),
            "is_tvm_target": name in kinds,
        })  # fmt: skip
    return found


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.lstrip("-").partition("=")
    if value[:1] in ("'", '"') and value[:1] == value[-1:]:
        value = value[1:-1]
    return name, value if equals else True


def validate_targets(
    parse_targets: Sequence[Mapping[str, Any]], additional_target_options: Options | None = None
) -> None:
    """Refuse, by TVMCException, what no module can be compiled for.

    Targets may stand once each, the last one must be TVM's own, and at most two are: the second
    one is the host's. Options must be of one of them.
    """
    kinds = Target.list_kinds()
    names = [target["name"] for target in parse_targets]
    if len(names) > len(set(names)):
        raise TVMCException("Duplicate target definitions are not allowed")
    if not names or names[-1] not in kinds:
        raise TVMCException(f"The last target needs to be a TVM target. Choices: {kinds}")
    own = [name for name in names if name in kinds]
    if len(own) > 2:
        raise TVMCException(
            f"Only two of the following targets ({', '.join(kinds)}) can be used at a time. "
            f"Found: {', '.join(own)}."
        )
    for name, options in (additional_target_options or {}).items():
        if name not in names:
            raise TVMCException(
                f"Passed --target-{name}-{next(iter(options))} but did not specify {name} target"
            )


def target_from_cli(
    target: str, additional_target_options: Options | None = None
) -> tuple[Target, list[dict[str, Any]]]:
    """The target of a text, with its host, and the compilers of parts that stand before it.

    The text is one of targets with commas between them, JSON, or the path of a file with JSON.
    """
    others: list[dict[str, Any]] = []
    try:
        if Path(target).is_file():
            return Target(json.loads(Path(target).read_text(encoding="utf-8"))), others
        if target.strip().startswith("{"):
            return Target(json.loads(target)), others
        parsed = parse_target(target)
        validate_targets(parsed, additional_target_options)
        own = [
            _with_options(one, additional_target_options or {})
            for one in parsed
            if one["is_tvm_target"]
        ]
        more = additional_target_options or {}
        others = [
            {**one, "opts": {**one["opts"], **more.get(one["name"], {})}}
            for one in parsed
            if not one["is_tvm_target"]
        ]
        return Target(own[0], host=own[1] if len(own) > 1 else None), others
    except (TVMError, ValueError) as error:
        if isinstance(error, TVMCException):
            raise
        raise TVMCException(f"target {target!r}: {error}") from error


def _with_options(parsed: Mapping[str, Any], more: Options) -> str:
    """The target's text; what an argument of its own says stands for what the text says."""
    given = more.get(parsed["name"], {})
    kept = [text for text in tokenize_target(parsed["raw"])[1:] if _option(text)[0] not in given]
    options = [f"-{name}={value}" for name, value in given.items()]
    return " ".join([parsed["name"], *kept, *options])


def _asked() -> list[tuple[str, str, str]]:
    """Kind, option and type of each option that has an argument."""
    return [
        (kind, option, of)
        for kind in Target.list_kinds()
        for option, of in TargetKind.options_from_name(kind).items()
        if of in _READ and option not in _NOT_ASKED
    ]


def generate_target_args(parser: argparse.ArgumentParser) -> None:
    """Let the parser take `--target`, and the options of each kind."""
    parser.add_argument(
        "--target", help="compilation target as plain text, JSON, or the path of a file with JSON"
    )
    groups: dict[str, Any] = {}
    for kind, option, of in _asked():
        if kind not in groups:
            groups[kind] = parser.add_argument_group(f"target {kind}")
        groups[kind].add_argument(
            f"--target-{kind}-{option}", type=_READ[of], help=f"target {kind} {option}"
        )


def reconstruct_target_args(args: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """The options that were given, by kind of target."""
    found: dict[str, dict[str, Any]] = {}
    for kind, option, _ in _asked():
        value = getattr(args, f"target_{kind}_{option}".replace("-", "_"), None)
        if value is not None:
            found.setdefault(kind, {})[option] = value
    return found
