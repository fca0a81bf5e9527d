"""Equality of programs by structure: two are equal when renaming bound variables makes them so.

A loop with an explicit stack walks both sides at once in the order of the field tables, definitions
first. Variables bound in the walk are tied together; free ones must be one object, unless asked
otherwise. The walk keeps no paths; they are found by a second walk once a difference is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeAlias

from tvm.ffi.object import as_object
from tvm.support.compiled import mypyc_attr
from tvm.support.dtype import DataType

from .access_path import AccessPath
from .expr import COMPARISONS, GlobalVar
from .node import Node

# Values with nothing inside: one object on both sides needs no further look.
_LEAVES = frozenset((type(None), bool, int, float, str, DataType))
_PLANS: dict[type, tuple[tuple[str, bool], ...]] = {}
_BINDERS: set[type] = set()


def _plan(cls: type[Node]) -> tuple[tuple[str, bool], ...]:
    """The fields that count, last first (they go on a stack), with whether they bind."""
    plan = _PLANS.get(cls)
    if plan is None:
        plan = tuple((f.name, f.binds) for f in reversed(cls.FIELDS) if not f.ignored)
        _PLANS[cls] = plan
        if any(binds for _, binds in plan):
            _BINDERS.add(cls)
    return plan


class _Comparison:
    """One walk over two nodes; `trail` is filled only when paths are wanted."""

    def __init__(self, map_free_vars: bool, skip_tensors: bool, paths: bool) -> None:
        self.map_free_vars = map_free_vars
        self.skip_tensors = skip_tensors
        self.paths = paths
        self.left: dict[Node, Node] = {}
        self.right: dict[Node, Node] = {}
        self.mismatch: tuple[AccessPath, AccessPath] | None = None

    def run(self, lhs: Any, rhs: Any, binds: bool = False) -> bool:
        root = AccessPath() if self.paths else None
        stack: list[Any] = [(lhs, rhs, binds, root, root)]
        while stack:
            a, b, binds, path_a, path_b = stack.pop()
            if a is b and not isinstance(a, Node):
                continue
            if isinstance(a, Node):
                if type(a) is not type(b):
                    if not isinstance(b, Node) and self._plain(_value(a), b):
                        continue
                    return self._differ(path_a, path_b)
                kind = a.EQUALITY
                if kind == "tree":
                    if isinstance(a, GlobalVar):
                        if a.name_hint != getattr(b, "name_hint", None):
                            return self._differ(path_a, path_b)
                        continue
                    if a.SHARED and not _is_empty(a):
                        shared = self._variable(a, b, True)
                        if shared is None:
                            continue  # seen before, by way of another user
                        if not shared:
                            return self._differ(path_a, path_b)
                elif kind == "unique":
                    if a is not b:
                        return self._differ(path_a, path_b)
                    continue
                else:
                    verdict = self._variable(a, b, binds)
                    if verdict is None:
                        continue  # tied together before
                    if not verdict:
                        return self._differ(path_a, path_b)
                self._push_fields(stack, a, b, binds, path_a, path_b)
            elif _is_sequence(type(a)):
                if not _is_sequence(type(b)):
                    return self._differ(path_a, path_b)
                if len(a) != len(b):
                    return self._length(a, b, binds, path_a, path_b)
                for i in range(len(a) - 1, -1, -1):
                    if path_a is None:
                        stack.append((a[i], b[i], binds, None, None))
                    else:
                        stack.append(
                            (a[i], b[i], binds, path_a.array_item(i), path_b.array_item(i))
                        )
            elif isinstance(a, Mapping):
                if not isinstance(b, Mapping) or not self._push_map(
                    stack, a, b, binds, path_a, path_b
                ):
                    return False if self.mismatch else self._differ(path_a, path_b)
            elif not self._plain(a, b):
                return self._differ(path_a, path_b)
        return True

    def _variable(self, a: Node, b: Node, binds: bool) -> bool | None:
        """None: already tied; True: tied now, so compare their fields; False: they differ."""
        tied = self.left.get(a)
        if tied is not None:
            return None if tied is b else False
        if b in self.right:
            return False
        if a is not b and not binds and not self.map_free_vars:
            return False
        self.left[a] = b
        self.right[b] = a
        return True

    def _push_fields(
        self,
        stack: list[Any],
        a: Node,
        b: Node,
        binds: bool,
        path_a: AccessPath | None,
        path_b: AccessPath | None,
    ) -> None:
        plan = _plan(type(a))
        if type(a) in _BINDERS and a.binds_first():
            plan = tuple(sorted(plan, key=lambda field: field[1]))
        for name, field_binds in plan:
            x, y = getattr(a, name), getattr(b, name)
            if x is y and x.__class__ in _LEAVES:
                continue
            if x.__class__ is float is y.__class__ and abs(x - y) < a.FLOAT_SLACK:
                continue
            if path_a is None or path_b is None:
                stack.append((x, y, binds or field_binds, None, None))
            else:
                stack.append((x, y, binds or field_binds, path_a.attr(name), path_b.attr(name)))

    def _push_map(
        self,
        stack: list[Any],
        a: Mapping[Any, Any],
        b: Mapping[Any, Any],
        binds: bool,
        path_a: AccessPath | None,
        path_b: AccessPath | None,
    ) -> bool:
        by_name = {k.name_hint: k for k in b if isinstance(k, GlobalVar)}
        pairs: list[tuple[Any, Any]] = []
        for key in a:
            if isinstance(key, GlobalVar):
                other: Any = by_name.get(key.name_hint)
            else:
                other = self.left.get(key, key) if isinstance(key, Node) else key
            if other is None or other not in b:
                if path_a is not None and path_b is not None:
                    missing = (path_a.map_item(key), path_b.map_item_missing(key))
                    self.mismatch = self._first_of(a, b, pairs, path_a, path_b) or missing
                return False
            pairs.append((key, other))
        if len(b) != len(a):
            if path_a is not None and path_b is not None:
                matched = [other for _, other in pairs]
                extra = next(k for k in b if not any(k is m or k == m for m in matched))
                missing = (path_a.map_item_missing(extra), path_b.map_item(extra))
                self.mismatch = self._first_of(a, b, pairs, path_a, path_b) or missing
            return False
        for key, other in pairs[::-1]:
            if path_a is None or path_b is None:
                stack.append((a[key], b[other], binds, None, None))
            else:
                stack.append(
                    (a[key], b[other], binds, path_a.map_item(key), path_b.map_item(other))
                )
        return True

    def _plain(self, a: Any, b: Any) -> bool:
        b = _value(b)
        if isinstance(a, float) and isinstance(b, float):
            return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
        if is_tensor_class(type(a)):
            return is_tensor_class(type(b)) and _same_tensor(a, b, self.skip_tensors)
        if isinstance(a, bool) or isinstance(b, bool):
            return type(a) is type(b) and a == b
        if isinstance(b, Node) or isinstance(a, float) is not isinstance(b, float):
            return False
        return bool(a == b)

    def _differ(self, path_a: AccessPath | None, path_b: AccessPath | None) -> bool:
        if self.mismatch is None and path_a is not None and path_b is not None:
            self.mismatch = (path_a, path_b)
        return False

    def _first_of(
        self,
        a: Any,
        b: Any,
        keys: Sequence[tuple[Any, Any]],
        path_a: AccessPath,
        path_b: AccessPath,
        binds: bool = False,
    ) -> tuple[AccessPath, AccessPath] | None:
        """The first difference between elements that both have, as the walk would come upon it."""
        left, right = dict(self.left), dict(self.right)
        for key, other in keys:
            probe = _Comparison(self.map_free_vars, self.skip_tensors, True)
            probe.left, probe.right = left, right
            if not probe.run(a[key], b[other], binds) and probe.mismatch is not None:
                inner_a, inner_b = probe.mismatch
                step_a, step_b = [
                    path.map_item(one) if isinstance(a, Mapping) else path.array_item(one)
                    for path, one in ((path_a, key), (path_b, other))
                ]
                return (
                    AccessPath((*step_a.steps, *inner_a.steps)),
                    AccessPath((*step_b.steps, *inner_b.steps)),
                )
        return None

    def _length(
        self, a: Any, b: Any, binds: bool, path_a: AccessPath | None, path_b: AccessPath | None
    ) -> bool:
        """Sequences of different length: the first difference may lie before the missing end."""
        if path_a is None or path_b is None:
            return False
        common = [(i, i) for i in range(min(len(a), len(b)))]
        self.mismatch = self._first_of(a, b, common, path_a, path_b, binds)
        if self.mismatch is not None:
            return False
        if len(a) < len(b):
            self.mismatch = (path_a.array_item_missing(len(a)), path_b.array_item(len(a)))
        else:
            self.mismatch = (path_a.array_item(len(b)), path_b.array_item_missing(len(b)))
        return False


def _is_sequence(cls: type) -> bool:
    """True for tuples, lists and the arrays of the runtime library; texts are values."""
    return issubclass(cls, (tuple, list)) or (
        issubclass(cls, Sequence) and not issubclass(cls, (str, bytes))
    )


def _is_empty(node: Node) -> bool:
    """True for the empty tuple, of which all copies are one."""
    return getattr(node, "fields", None) == ()


# Among attributes a number may stand as it is, or as an expression of one.
_NUMBERS = frozenset(("ir.IntImm", "ir.FloatImm"))


def _value(given: Any) -> Any:
    """The number that a literal holds; what else is given stays."""
    if not isinstance(given, Node) or given.TYPE_KEY not in _NUMBERS:
        return given
    value = given.value  # type: ignore[attr-defined]
    return bool(value) if given.dtype == "bool" else value  # type: ignore[attr-defined]


def _values(given: Any) -> Any:
    """Of an attribute, with the literals in sequences."""
    return [_values(g) for g in given] if isinstance(given, (list, tuple)) else _value(given)


def is_tensor_class(cls: type) -> bool:
    """True for tensors: those of the IR, and those of the runtime, which stands elsewhere."""
    return hasattr(cls, "numpy") and hasattr(cls, "shape")


def _same_tensor(a: Any, b: Any, skip_content: bool) -> bool:
    if tuple(a.shape) != tuple(b.shape) or str(a.dtype) != str(b.dtype):
        return False
    return skip_content or a.numpy().tobytes() == b.numpy().tobytes()


def structural_equal(
    lhs: Any, rhs: Any, map_free_vars: bool = False, *, skip_tensor_content: bool = False
) -> bool:
    """True when both sides have the same structure up to the names of bound variables.

    `map_free_vars` lets free variables of one side stand for those of the other, one to one;
    with `skip_tensor_content` only shape and type of constants count.
    """
    comparison = _Comparison(map_free_vars, skip_tensor_content, False)
    return comparison.run(as_object(lhs), as_object(rhs))


def get_first_structural_mismatch(
    lhs: Any, rhs: Any, map_free_vars: bool = False, skip_tensor_content: bool = False
) -> tuple[AccessPath, AccessPath] | None:
    """The paths to the first difference on both sides; None when they are equal."""
    comparison = _Comparison(map_free_vars, skip_tensor_content, True)
    if comparison.run(as_object(lhs), as_object(rhs)):
        return None
    assert comparison.mismatch is not None, "an unequal comparison names the node"
    return comparison.mismatch


@mypyc_attr(native_class=False)
class StructuralMismatch(ValueError):
    """Two programs that should be equal are not; the message shows both with the node marked."""


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise a ValueError that shows where the two sides differ, unless they are equal."""
    lhs, rhs = as_object(lhs), as_object(rhs)
    if structural_equal(lhs, rhs, map_free_vars):
        return
    found = get_first_structural_mismatch(lhs, rhs, map_free_vars)
    assert found is not None, "both walks agree"
    raise StructuralMismatch(
        "StructuralEqual check failed, caused by "
        f"lhs at {found[0]}:\n{_marked(lhs, found[0])}\n"
        f"and rhs at {found[1]}:\n{_marked(rhs, found[1])}"
    )


def _marked(root: Any, path: AccessPath) -> str:
    """The script of `root` with the node underlined, or the nearest part that can be printed."""
    present = path
    while present.steps and present.steps[-1][0].endswith("missing"):
        present = AccessPath(present.steps[:-1])
    if not isinstance(root, Node):
        return str(root)
    return root.script(path_to_underline=[present], syntax_sugar=False)


# How a value is hashed, by its class: looked up once a class, as most values are of a few classes.
_TREE, _BINDER, _VAR, _NAME, _UNIQUE, _SEQUENCE, _MAP, _TENSOR, _FLOAT, _TEXT, _PLAIN = range(11)
_Recipe: TypeAlias = "tuple[int, str, Callable[[Any], tuple[Any, ...]]]"
_RECIPES: dict[type, _Recipe] = {}


class _Mark:
    """Stands in the walk before and after what a binding field holds."""


_BIND, _UNBIND = _Mark(), _Mark()


def _recipe(cls: type) -> _Recipe:
    """The kind of a class, the token that starts it, and how its parts are taken, last first."""
    made: _Recipe = (_PLAIN, cls.__name__ if cls is bool else "", _no_parts)
    if issubclass(cls, Node):
        plan = _plan(cls)
        parts = _parts(plan)
        if issubclass(cls, GlobalVar):
            made = (_NAME, "", parts)
        elif cls.EQUALITY == "unique":
            made = (_UNIQUE, cls.TYPE_KEY, parts)
        elif cls.EQUALITY == "var":
            made = (_VAR, cls.TYPE_KEY, parts)
        else:
            binder = any(binds for _, binds in plan)
            made = (_BINDER if binder else _TREE, cls.TYPE_KEY, parts)
    elif _is_sequence(cls):
        made = (_SEQUENCE, "", _no_parts)
    elif issubclass(cls, Mapping):
        made = (_MAP, "", _no_parts)
    elif is_tensor_class(cls):
        made = (_TENSOR, "", _no_parts)
    elif issubclass(cls, float):
        made = (_FLOAT, "", _no_parts)
    elif issubclass(cls, str):
        made = (_TEXT, "", _no_parts)
    _RECIPES[cls] = made
    return made


def _no_parts(_: Any) -> tuple[Any, ...]:
    return ()


def _parts(plan: tuple[tuple[str, bool], ...]) -> Callable[[Any], tuple[Any, ...]]:
    names = [name for name, _ in plan]
    if not names:
        return _no_parts
    if len(names) == 1:
        only = attrgetter(names[0])
        return lambda node: (only(node),)
    return attrgetter(*names)


def _tokens(node: Any, map_free_vars: bool, skip_tensors: bool = False) -> list[str]:
    """What two structurally equal programs have in common, as a list of short texts.

    A free variable is told by its address, or by the order of appearance if `map_free_vars`;
    with `skip_tensors` the numbers in constants are left out.
    """
    numbers: dict[Node, int] = {}
    found: list[str] = []
    add, recipes = found.append, _RECIPES
    binding = 1 if map_free_vars else 0  # how many binding fields enclose the node
    stack: list[Any] = [node]
    while stack:
        item = stack.pop()
        cls = item.__class__
        kind, token, parts = recipes.get(cls) or _recipe(cls)
        if kind in (_TREE, _BINDER) and item.SHARED and not _is_empty(item):
            number = numbers.get(item)
            if number is not None:
                add(f"^{number}")
                continue
            numbers[item] = len(numbers)
        if kind == _TREE:
            add(token)
            stack.extend(parts(item))
        elif kind == _TEXT:
            add(item)
        elif kind == _SEQUENCE:
            add(f"({len(item)}")
            stack.extend(reversed(item))
        elif kind == _PLAIN:
            if item is _BIND:
                binding += 1
            elif item is _UNBIND:
                binding -= 1
            else:
                add(f"{token}{item!s};")
        elif kind == _VAR:
            number = numbers.get(item)
            if number is not None:
                add(f"%{number}")
                continue
            numbers[item] = number = len(numbers)
            add(f"%{number}:" if binding else f"%{number}@{id(item)}:")
            add(token)
            stack.extend(parts(item))
        elif kind == _BINDER:
            add(token)
            pairs = list(zip(_plan(cls), parts(item)))
            if item.binds_first():
                pairs.sort(key=lambda pair: pair[0][1])
            for (_, binds), part in pairs:
                stack.extend((_UNBIND, part, _BIND) if binds else (part,))
        elif kind == _NAME:
            add(f"@{item.name_hint}")
        elif kind == _UNIQUE:
            add(f"!{getattr(item, 'name', token)}")
        elif kind == _FLOAT:
            add("nan" if item != item else item.hex())
        elif kind == _MAP:
            add(f"{{{len(item)}")
            for key in sorted(item, key=lambda k: _key_order(k, numbers), reverse=True):
                stack.extend((_values(item[key]), key))
        else:
            add(f"T{tuple(item.shape)}{item.dtype}")
            if not skip_tensors:
                add(item.numpy().tobytes().hex())
    return found


def _key_order(key: Any, numbers: dict[Node, int]) -> str:
    if isinstance(key, GlobalVar):
        return key.name_hint
    return f"{numbers.get(key, -1):09d}" if isinstance(key, Node) else str(key)


def _digest(tokens: list[str]) -> str:
    import hashlib

    # a text that holds the separator moves the others: programs would have to be made for it
    text = "\0".join(tokens).encode(errors="surrogatepass")
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def structural_digest(node: Any) -> str:
    """A text that equal programs share, the same in every process; for caches on disk.

    Free variables count by the order of their appearance.
    """
    return _digest(_tokens(as_object(node), True))


def structural_hash(
    node: Any, map_free_vars: bool = False, *, skip_tensor_content: bool = False
) -> int:
    """A number of 64 bits that structurally equal programs share.

    A free variable counts as the object that it is, unless `map_free_vars`: then only the order
    of appearance counts, and the number is the same in every process. With `skip_tensor_content`
    only shape and type of constants count.
    """
    return int(_digest(_tokens(as_object(node), map_free_vars, skip_tensor_content))[:16], 16)


COMPARISONS.register("equal", structural_equal)
COMPARISONS.register("hash", structural_hash)
