"""The code of one function apart from its module, as text that is kept and put into any module.

A function is written into a module of its own, and from there into that of the others:

    part:  @.str = "f"  define @f ... !dbg !5   ->   module:  @.str.2 = "f"  define @f ... !dbg !9

Names of strings, of functions cut out of it and of metadata become those that are free there. What
is kept and what was just made go the same way, so the module's text is the same.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

from tvm.backend.host_functions import Signature

from .module_text import ModuleText
from .types import quoted

_WORD: Final = re.compile(r'@"[^"]*"|"[^"]*"|@[-\w$.]+|![0-9]+')
_DEFINED: Final = re.compile(r'^define [^@]*@(?:"([^"]*)"|([-\w$.]+))\(')
_COUNT: Final = re.compile(r"(?:[._][0-9]+)+$")


class Fragment(NamedTuple):
    """The text of a function and of those cut out of it, with what they refer to."""

    params: tuple[str, ...]  # of the function, by LLVM's types
    functions: tuple[str, ...]
    inner: tuple[str, ...]  # the names of those cut out
    data: tuple[tuple[str, str], ...]  # names and lines of private data
    strings: tuple[tuple[str, str], ...]  # names and contents
    declares: tuple[tuple[str, str], ...]
    metadata: tuple[tuple[str, str, bool], ...]  # names, contents, and whether equal ones are one

    def to_text(self) -> str:
        """The fragment as `from_text` reads it."""
        return json.dumps(self)

    @staticmethod
    def from_text(text: str) -> Fragment:
        """What `to_text` wrote."""

        def fixed(value: Any) -> Any:
            return tuple(fixed(item) for item in value) if isinstance(value, list) else value

        return Fragment(*fixed(json.loads(text)))


def taken(part: ModuleText, signature: Signature, first: int) -> Fragment | None:
    """The function that a module consists of; None where it needs what a fragment has not.

    The first metadata nodes, which each module has, are left out.
    """
    if part.constants or part.foreign or part.imported or part.uses_context:
        return None
    strings = {name: data[:-1].decode() for data, name in part.strings.items()}
    names = [match[1] or match[2] for text in part.functions if (match := _DEFINED.match(text))]
    shared = set(part.shared.values())
    nodes = [line.partition(" = ")[::2] for line in part.nodes]
    return Fragment(
        signature.params,
        tuple(part.functions),
        tuple(name for name in names if name != signature.name),
        tuple((n, line) for n, line in part.globals.items() if n not in strings),
        tuple(strings.items()),
        tuple(part.declares.items()),
        tuple((name, content, name in shared) for name, content in nodes[first:]),
    )


def uncounted(name: str) -> str:
    """A name without the number that made it one of its own in some module."""
    return _COUNT.sub("", name)


def put(fragment: Fragment, module: ModuleText) -> None:
    """Write a fragment into a module."""
    renamed: dict[str, str] = {}
    for name in fragment.inner:
        renamed["@" + name] = quoted(module.names.fresh(uncounted(name), "."))
    for name, text in fragment.strings:
        renamed[name] = module.string(text)
    for name, _ in fragment.data:
        plain = name[1:].replace('"', "")
        renamed["@" + plain] = quoted(module.names.fresh(plain))
    for name, line in fragment.declares:
        module.add_declare(name, line)

    def word(match: re.Match[str]) -> str:
        found = match[0]
        if found[0] == "@":
            return renamed.get(found.replace('"', ""), found)
        return renamed.get(found, found) if found[0] == "!" else found

    for name, content, is_shared in fragment.metadata:
        if not is_shared:
            renamed[name] = module.next_metadata()
        text = _WORD.sub(word, content)
        if is_shared:
            renamed[name] = module.shared_metadata(text)
        else:
            module.metadata(text)
    for name, line in fragment.data:
        operand = renamed["@" + name[1:].replace('"', "")]
        module.globals[operand] = f"{operand} = {_WORD.sub(word, line.partition(' = ')[2])}"
    module.functions += [_WORD.sub(word, text) for text in fragment.functions]
