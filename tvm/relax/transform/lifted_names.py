"""What local functions are called in the module: `main_inner` for `inner` of `main`.

    main: f (in it h), g (in it h)      ->     main_f, main_f_h, main_g, main_g_h
    main: f, and another f              ->     main_f_1, main_f_0
    main: f, where main_f is taken      ->     main_f_0

First each asks for its own name behind that of the function of the module. Who asks for a name
alone gets it; where several do, nobody does, and each asks for the names of all functions around
it. The rest is numbered, from the last one on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from tvm.ir.module import IRModule
from tvm.relax.expr import Function
from tvm.relax.transform.rebuild import all_bindings

Path = tuple[str, ...]


class LiftedNames:
    """Gives out the names, to the local functions in the order in which they are bound."""

    def __init__(self, mod: IRModule) -> None:
        paths = [
            path
            for var, func in mod.functions_items()
            if isinstance(func, Function)
            for path in _paths(func, (var.name_hint,))
        ]
        names = _names(paths, {var.name_hint for var in mod.functions})
        self._waiting: dict[Path, list[str]] = {}
        for path, name in zip(paths, names):
            self._waiting.setdefault(path, []).append(name)

    def take(self, path: Path) -> str:
        """The name of the next local function of this path."""
        return self._waiting[path].pop(0)


def _paths(func: Function, path: Path) -> Iterator[Path]:
    for binding in all_bindings(func):
        if isinstance(binding.value, Function):
            own = (*path, binding.var.name_hint)
            yield own
            yield from _paths(binding.value, own)


def _names(paths: list[Path], taken: set[str]) -> list[str]:
    names: dict[int, str] = {}
    asked = set(taken)
    forms: list[Callable[[Path], str]] = [_short, "_".join]
    for form in forms:
        wanted = {i: form(path) for i, path in enumerate(paths) if i not in names}
        counts = Counter(wanted.values())
        names |= {i: name for i, name in wanted.items() if counts[name] == 1 and name not in asked}
        asked |= counts.keys()
    asked = taken | set(names.values())
    for i in reversed(range(len(paths))):
        if i not in names:
            number = 0
            while (name := f"{_short(paths[i])}_{number}") in asked:
                number += 1
            names[i] = name
            asked.add(name)
    return [names[i] for i in range(len(paths))]


def _short(path: Path) -> str:
    return f"{path[0]}_{path[-1]}"
