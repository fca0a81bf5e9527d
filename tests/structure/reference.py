"""The public names of TVM v0.22 as data: `data/api_<area>.txt`, one name a line.

    ## tvm.tir.buffer
    decl_buffer(shape, dtype=None, name='buffer')       a function
    class Buffer(shape, dtype)                          a class, with what its constructor takes
        vload(self, begin, dtype=None)                  a method
        property dtype                                  an attribute

`python -m tests.structure.reference tvm.tir.buffer` prints what differs below a prefix, and
`--update` instead of a prefix records the counts that may not fall again.
"""

from __future__ import annotations

import ast
import dis
import inspect
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

DATA = Path(__file__).parent / "data"
COUNTED = DATA / "counted.txt"
MISSING = object()
RECEIVERS = {"self", "cls"}
COLLECTS = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


class Entry(NamedTuple):
    """One public name; `owner` is its class, `signature` its parameters in parentheses."""

    module: str
    owner: str
    name: str
    signature: str | None

    def __str__(self) -> str:
        return ".".join(filter(None, [self.module, self.owner, self.name]))


def entries() -> list[Entry]:
    return [e for path in sorted(DATA.glob("api_*.txt")) for e in _parse(path)]


def _parse(path: Path) -> Iterator[Entry]:
    module = owner = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if not text:
            continue
        if text.startswith("## "):
            module, owner = text[3:], ""
            continue
        kind = next((k for k in ("class", "property") if text.startswith(f"{k} ")), "")
        name, paren, parameters = text.removeprefix(f"{kind} ").partition("(")
        signature = f"({parameters}" if paren else None
        yield Entry(module, owner if line.startswith(" ") else "", name, signature)
        if kind == "class":
            owner = name


def home_of(entry: Entry) -> ModuleType | None:
    """The module that shows the name: the one it was in, or the nearest package around it."""
    first, name = entry.owner or entry.name, entry.module
    while name and name != "tvm":
        module = _module(name)
        if module is not None and _member(module, first) is not MISSING:
            return module
        name = name.rpartition(".")[0]
    return None


@cache
def _module(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:
        return None


def _member(home: object, name: str) -> object:
    try:
        return getattr(home, name, MISSING)
    except ImportError:                 # a lazy name whose module is not there
        return MISSING


def find(entry: Entry) -> object:
    """What the name stands for, or `MISSING`."""
    home = home_of(entry)
    if home is None:
        return MISSING
    if not entry.owner:
        return getattr(home, entry.name)
    owner = getattr(home, entry.owner)
    if inspect.isclass(owner) and entry.name in _fields(owner):
        return None
    return getattr(owner, entry.name, MISSING)


@cache
def _fields(owner: type) -> frozenset[str]:
    """Attributes that instances have: slots, annotated names, and what __init__ sets."""
    named: set[str] = set()
    for base in owner.__mro__:
        slots = vars(base).get("__slots__", ())
        named.update([slots] if isinstance(slots, str) else slots)
        named.update(vars(base).get("__annotations__", {}))
        init = vars(base).get("__init__")
        if hasattr(init, "__code__"):
            stores = (i for i in dis.get_instructions(init) if i.opname == "STORE_ATTR")
            named.update(i.argval for i in stores)
    return frozenset(named)


def mismatch(entry: Entry, value: object) -> str | None:
    """Where the parameters differ from the reference: names, order, or defaults."""
    if entry.signature is None or not callable(value):
        return None
    try:
        ours = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return None                     # a class of C, say: it does not tell its parameters
    wanted = _parameters(entry.signature)
    if inspect.isclass(value) and not wanted:
        return None                     # not made by its users: no constructor to agree on
    if ours and ours[0].name in RECEIVERS:
        ours = ours[1:]
    if wanted and wanted[0][0] in RECEIVERS:
        wanted = wanted[1:]
    collected = {p.name for p in ours if p.kind in COLLECTS}        # *args: any name will do
    names = [name for name, _ in wanted if not name.startswith("*")]
    for stars in (name for name, _ in wanted if name.startswith("*")):
        if not collected:
            return f"{entry}: has no {stars}"
    if [p.name for p in ours if p.name in names] != names:
        return f"{entry}: parameters {[p.name for p in ours]}, wanted {names}"
    for p in ours:
        if p.name not in names and p.default is p.empty and p.kind not in COLLECTS:
            return f"{entry}: {p.name} is not in the reference and has no default"
    by_name = {p.name: p for p in ours}
    for name, default in wanted:
        if name not in by_name:
            continue
        found = by_name[name].default
        if default is not None and not _same_default(default, found):
            return f"{entry}: {name}={found!r}, wanted {default}"
    return None


def _parameters(signature: str) -> list[tuple[str, str | None]]:
    """Names in order with the text of their defaults."""
    function = ast.parse(f"def f{signature}: pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    args = function.args
    listed = [*args.posonlyargs, *args.args]
    texts: list[str | None] = [None] * (len(listed) - len(args.defaults))
    texts += [ast.unparse(d) for d in args.defaults]
    found = [(a.arg, t) for a, t in zip(listed, texts, strict=True)]
    if args.vararg:
        found.append((f"*{args.vararg.arg}", None))
    found += [
        (a.arg, None if d is None else ast.unparse(d))
        for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)
    ]
    if args.kwarg:
        found.append((f"**{args.kwarg.arg}", None))
    return found


def _same_default(text: str, found: object) -> bool:
    """Whether the default is the literal `text`; a default that is no literal must only exist."""
    if found is inspect.Parameter.empty:
        return False
    try:
        wanted = ast.literal_eval(text)
    except ValueError:
        return True
    if isinstance(wanted, (list, tuple)) and isinstance(found, (list, tuple)):
        return list(wanted) == list(found)      # an immutable stand-in for a list is as good
    if wanted in ([], {}, ()) and not found:
        return True
    return bool(wanted == found)


def fault(entry: Entry) -> str | None:
    """Why the name is not as the reference has it, or None."""
    value = find(entry)
    return f"{entry}: missing" if value is MISSING else mismatch(entry, value)


def floor_of(entry: Entry) -> str:
    return ".".join(entry.module.split(".")[:2])


def counts() -> Counter[str]:
    """How many names of each floor are as the reference has them."""
    return Counter(floor_of(e) for e in entries() if fault(e) is None)


def recorded() -> dict[str, int]:
    lines = COUNTED.read_text(encoding="utf-8").splitlines()
    return {name: int(count) for name, count, *_ in map(str.split, lines)}


def main(arguments: list[str]) -> None:
    """Print the faults below a prefix, or record the counts of today."""
    if arguments[:1] == ["--update"]:
        totals, now = Counter(map(floor_of, entries())), counts()
        rows = [f"{name} {now[name]} of {totals[name]}" for name in sorted(totals)]
        COUNTED.write_text("\n".join(rows) + "\n", encoding="utf-8")
        print(COUNTED.read_text(encoding="utf-8"), end="")
    else:
        for entry in entries():
            if str(entry).startswith(tuple(arguments or ["tvm"])) and (why := fault(entry)):
                print(why)


if __name__ == "__main__":
    main(sys.argv[1:])
