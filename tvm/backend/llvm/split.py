"""The text of a module as texts of parts that are compiled apart: one for each kernel.

    main calls f and g, f launches f.body     ->     main;  f and f.body;  g

A part depends on its own functions only, so that of a changed program only the changed parts are
compiled again, and several at once. Functions stay together that call each other, but for calls
by argument checks and graphs, which say that in their attributes: nothing is lost when what they
call is elsewhere. Such a callee gets a name by its content and may stand in several objects
(`weak_odr`), of which a linker takes one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Final

from .module_text import AS_IT_IS, CALLER

SMALLEST: Final = 50_000  # characters; for less the parts cost more than they save
_WORD: Final = re.compile(r'@"[^"]*"|"[^"]*"|@[-\w$.]+|![0-9]+')
_NAME: Final = re.compile(r'@(?:"[^"]*"|[-\w$.]+)')
_SIMPLE: Final = re.compile(r"@[-\w$.]+")
_COUNTED: Final = re.compile(r"^@(\.str|__tvm_parallel_lambda)(?:\.[0-9]+)?$")
_HEAD: Final = ("source_filename = ", "target datalayout = ", "target triple = ")


def parts_of(text: str) -> list[str]:
    """The texts of the parts; the text itself where it is small, or has what is not known here."""
    if len(text) < SMALLEST or 'target triple = "' not in text or "-linux-" not in text:
        return [text]
    module = _Module()
    if not module.read(text):
        return [text]
    parts = module.parts()
    return parts if len(parts) > 1 else [text]


class _Module:
    """The lines of a text, by what they are."""

    def __init__(self) -> None:
        self.head: list[str] = []
        self.globals: dict[str, str] = {}
        self.functions: dict[str, str] = {}
        self.declares: dict[str, str] = {}
        self.attributes: list[str] = []
        self.named: list[str] = []
        self.metadata: dict[str, str] = {}

    def read(self, text: str) -> bool:
        """Take a text apart; False where a line is of no known kind."""
        lines = text.split("\n")
        at = 0
        while at < len(lines):
            line = lines[at]
            at += 1
            if line.startswith("define "):
                end = lines.index("}", at)
                self.functions[_name(line)] = "\n".join(lines[at - 1 : end + 1])
                at = end + 1
            elif line.startswith("@"):
                self.globals[_name(line)] = line
            elif line.startswith("declare "):
                self.declares[_name(line)] = line
            elif line.startswith("attributes "):
                self.attributes.append(line)
            elif line.startswith("!"):
                label = line.partition(" ")[0]
                if label[1:].isdigit():
                    self.metadata[label] = line
                else:
                    self.named.append(line)
            elif line.startswith(_HEAD):
                self.head.append(line)
            elif line:
                return False
        return True

    def parts(self) -> list[str]:
        """The texts; that which calls the others is the last."""
        uses = {
            name: {_plain(word) for word in _WORD.findall(body)} - {name}
            for name, body in self.functions.items()
        }
        groups = self._groups(uses)
        callers = {name for name, body in self.functions.items() if _is_caller(body)}
        frame = [group for group in groups if any(name in callers for name in group)]
        kernels = [group for group in groups if not any(name in callers for name in group)]
        called = {word for group in frame for name in group for word in uses[name]}
        renamed: dict[str, str] = {}
        found: list[str] = []
        for group in kernels:
            shared = [name for name in group if name in called and self._is_internal(name)]
            own = _Part(self, group, {})
            digest = hashlib.sha256(own.text({}).encode()).hexdigest()[:16]
            fresh = {name: f"{name}.{digest}" for name in shared}
            renamed.update(fresh)
            found.append(own.text(fresh))
        if frame:
            whole = [name for name in self.functions if any(name in group for group in frame)]
            found.append(_Part(self, whole, renamed).text({}))
        return found

    def _is_internal(self, name: str) -> bool:
        return self.functions[name].startswith("define internal ")

    def _groups(self, uses: dict[str, set[str]]) -> list[list[str]]:
        """Functions that stay together, in the order of the text."""
        leader = {name: name for name in self.functions}

        def find(name: str) -> str:
            while leader[name] != name:
                name = leader[name]
            return name

        owners: dict[str, str] = {}
        for name, body in self.functions.items():
            apart = _is_caller(body)
            for word in uses[name]:
                if word in leader:
                    if not apart or _is_caller(self.functions[word]):
                        leader[find(word)] = find(name)
                elif word in self.globals and _is_state(self.globals[word]):
                    leader[find(owners.setdefault(word, name))] = find(name)
        groups: dict[str, list[str]] = {}
        for name in self.functions:
            groups.setdefault(find(name), []).append(name)
        return list(groups.values())


class _Part:
    """Some functions of a module; `outside` gives those that stand elsewhere, and their names."""

    def __init__(self, module: _Module, names: Iterable[str], outside: dict[str, str]) -> None:
        self._module = module
        self._names = list(names)
        self._outside = outside

    def text(self, shared: dict[str, str]) -> str:
        """The text; functions in `shared` are seen from other parts under the given names."""
        module = self._module
        words: dict[str, str] = {**self._outside, **shared}  # what stands for a word of the module
        taken: dict[str, int] = {}
        for name in self._names:  # counted anew, as the rest of the module does not count here
            base = _COUNTED.match(name)
            if base is not None and name not in words:
                words[name] = _counted(f"@{base[1]}", taken)
        used: dict[str, None] = {}
        nodes: dict[str, str] = {}

        def word(match: re.Match[str]) -> str:
            found = match[0]
            if found[0] == '"':
                return found
            if found[0] == "!":
                return nodes.setdefault(found, f"!{len(nodes)}")
            plain = _plain(found)
            if plain in module.globals and plain not in words:
                base = _COUNTED.match(plain)
                words[plain] = plain if base is None else _counted(f"@{base[1]}", taken)
            used[plain] = None
            return _written(words.get(plain, plain))

        functions = []
        for name in self._names:
            body = module.functions[name]
            if name in shared:
                body = "define weak_odr hidden " + body.removeprefix("define internal ")
            functions += [_WORD.sub(word, body), ""]
        named = [_WORD.sub(word, line) for line in module.named]
        rows: list[str] = []
        waiting = list(nodes)
        while waiting:
            for node in waiting:
                rows.append(nodes[node] + _WORD.sub(word, module.metadata[node][len(node) :]))
            waiting = list(nodes)[len(rows) :]
        values = [
            f"{_written(words[name])} = {module.globals[name].partition(' = ')[2]}"
            for name in used
            if name in module.globals
        ]
        outside = [
            _as_declaration(module.functions[name], self._outside[name])
            for name in used
            if name in self._outside and name not in self._names
        ]
        declared = [line for name, line in module.declares.items() if name in used]
        return "\n".join(
            [*module.head, "", *values, "", *functions, *sorted(outside), *declared, "",
             *module.attributes, "", *named, *rows, ""]
        )  # fmt: skip


def _counted(base: str, taken: dict[str, int]) -> str:
    count = taken.get(base, 0)
    taken[base] = count + 1
    return f"{base}.{count}" if count else base


def _name(line: str) -> str:
    found = _NAME.search(line)
    assert found is not None, "definitions have names"
    return _plain(found[0])


def _plain(word: str) -> str:
    """A name without quotation marks, which are there or not for the same name."""
    return word.replace('"', "") if word.startswith("@") else word


def _written(name: str) -> str:
    return name if _SIMPLE.fullmatch(name) else f'@"{name[1:]}"'


def _first_line(body: str) -> str:
    return body[: body.index("\n")]


def _is_caller(body: str) -> bool:
    """Whether a function leaves what it calls apart."""
    line = _first_line(body)
    return f" {AS_IT_IS} " in line or f" {CALLER} " in line


def _is_state(line: str) -> bool:
    """Whether a global is memory that its functions share: not constant, not defined elsewhere."""
    return " global " in line and " external " not in line


def _as_declaration(body: str, name: str) -> str:
    """The declaration of a function that another part defines."""
    line = _first_line(body).removeprefix("define internal ")
    kind, _, rest = _NAME.sub("@", line, count=1).partition("@")
    return f"declare hidden {kind}{_written(name)}{rest[: rest.rindex(') #') + 1]}"
