"""A digest of all that a program says: names, spans and what is shared count, unlike for equality.

For caches of what is made of a program: two programs of one digest lead to the same result, to the
letter. It depends on nothing outside of the program, so it is the same in every process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

from tvm.error import TVMError, message

from .expr import GlobalVar
from .node import Node
from .op import Op

_PARTS: dict[type[Node], Callable[[Any], tuple[Any, ...]]] = {}


def exact_digest(node: Any) -> str:
    """The digest in hexadecimal.

    A function of the module is told by its name. Raises TVMError for a program with anything in it
    that is neither a node nor plain data: its text may not say all.
    """
    # a text is told with its length, so that no text can look like other tokens
    text = "\0".join(_tokens(node)).encode(errors="surrogatepass")
    return hashlib.blake2b(text, digest_size=32).hexdigest()


def _tokens(root: Any) -> list[str]:
    # by identity: ranges are compared by what they say, and their spans count here
    numbers: dict[int, int] = {}
    alive: list[Node] = []
    found: list[str] = []
    add = found.append
    stack: list[Any] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, Node):
            number = numbers.get(id(item))
            if number is not None:
                add(f"^{number}")
                continue
            numbers[id(item)] = len(numbers)
            alive.append(item)
            add(item.TYPE_KEY)
            if isinstance(item, (GlobalVar, Op)):  # what else they know changes as passes run
                name = item.name_hint if isinstance(item, GlobalVar) else item.name
                add(f"{len(name)}'{name}")
                continue
            cls = item.__class__
            stack.extend((_PARTS.get(cls) or _parts(cls))(item))
        elif isinstance(item, str):
            add(f"{len(item)}'{item}")
        elif item is None or isinstance(item, (int, bool)):
            add(repr(item) if item is None or isinstance(item, bool) else f"{int(item)}")
        elif isinstance(item, float):
            add("nan" if item != item else item.hex())
        elif isinstance(item, (tuple, list)):
            add(f"({len(item)}")
            stack.extend(item)
        elif isinstance(item, Mapping):
            add(f"{{{len(item)}")
            for key, value in item.items():
                stack += (value, key)
        else:
            raise TVMError(
                message(
                    "exact_digest",
                    found=f"a {type(item).__name__} in the program",
                    legal="nodes, numbers, texts, sequences and maps of them",
                )
            )
    return found


def _parts(cls: type[Node]) -> Callable[[Any], tuple[Any, ...]]:
    """How the values of the fields are taken from a node of a class."""
    names = [field.name for field in cls.FIELDS]
    made: Callable[[Any], tuple[Any, ...]]
    if cls.field_values is not Node.field_values:  # not every field is one that is saved
        def made(node: Any) -> tuple[Any, ...]:
            return (dict(node.field_values()),)
    elif len(names) > 1:
        made = attrgetter(*names)
    else:
        def made(node: Any) -> tuple[Any, ...]:
            return tuple(getattr(node, name) for name in names)
    _PARTS[cls] = made
    return made
