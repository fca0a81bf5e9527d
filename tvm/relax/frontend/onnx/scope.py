"""Values by name: of a graph, of a graph within a node, of a function's body."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tvm.ir.expr import RelaxExpr
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo

from .known_values import KnownValues
from .texts import text_tensor

if TYPE_CHECKING:
    from tvm.relax.block_builder import BlockBuilder

    from .known_values import Array


class Scope:
    """What has been made so far; a graph within a node sees the scope around it.

    A value is an expression, or known while importing, or another name of a value elsewhere. It
    is made a tensor in the scope that reads it, since a branch's tensors end with the branch.
    """

    def __init__(
        self, opsets: Mapping[str, int], around: Scope | None = None,
        read: Collection[str] | None = None,
    ) -> None:  # fmt: skip
        self.opsets = opsets
        self._read: Collection[str] | None = read
        if read is None and around is not None:
            self._read = around._read
        self.around = around
        self.known = KnownValues(self._known_elsewhere)
        self._values: dict[str, RelaxExpr] = {}
        self._others: dict[str, Ref] = {}
        self._texts: dict[str, Array | None] = {}

    def bind(self, name: str, value: RelaxExpr | Ref) -> None:
        """Give a name its value."""
        if isinstance(value, Ref):
            self._others[name] = value
        else:
            self._values[name] = value

    def mark_text(self, name: str, strings: Array | None = None) -> None:
        """Note that the value holds strings, as codes; `strings` where the model gives them."""
        self._texts[name] = strings

    def is_text(self, name: str) -> bool:
        """Whether the value holds strings."""
        if name in self._texts:
            return True
        other = None if name in self._values else self._elsewhere(name)
        return other is not None and other.scope.is_text(other.name)

    def text(self, name: str) -> Array | None:
        """The strings that the model gives by this name."""
        if name in self._values or name in self._texts:
            return self._texts.get(name)
        other = self._elsewhere(name)
        return None if other is None else other.scope.text(other.name)

    def is_read(self, name: str) -> bool:
        """Whether something reads the value, as far as that was looked up."""
        return bool(name) and (self._read is None or name in self._read)

    def has(self, name: str) -> bool:
        """Whether the value is there."""
        made = self.made(name) is not None or self.known.get(name) is not None
        return made or self.text(name) is not None

    def names(self) -> list[str]:
        """All names of values that are there."""
        outer = [] if self.around is None else self.around.names()
        return [*self._values, *self._others, *outer]

    def made(self, name: str) -> RelaxExpr | None:
        """The expression of a value, if one has been made."""
        found = self._values.get(name)
        if found is not None:
            return found
        other = self._elsewhere(name)
        return None if other is None else other.scope.made(other.name)

    def read(self, name: str, bb: BlockBuilder) -> RelaxExpr:
        """The expression of a value that is there; a known one is made a tensor."""
        found = self.made(name)
        strings = self.text(name) if found is None else None
        if strings is not None:
            found = self._values[name] = bb.emit(text_tensor(strings))
            self.mark_text(name, strings)
        if found is None:
            known = self.known.typed(name)
            assert known is not None, "the caller looked whether the value is there"
            found = self.known.as_expr(bb, *known)
            self._values[name] = found
        return found

    def info(self, name: str) -> tuple[Sequence[Any] | None, str] | None:
        """Shape and type of a value for which an expression was made, or None."""
        value = self.made(name)
        info = None if value is None else value.struct_info_
        if not isinstance(info, TensorStructInfo):
            return None
        shape = info.shape.values if isinstance(info.shape, ShapeExpr) else None
        return shape, str(info.dtype)

    def _elsewhere(self, name: str) -> Ref | None:
        other = self._others.get(name)
        if other is None and self.around is not None:
            return Ref(self.around, name)
        return other

    def _known_elsewhere(self, name: str) -> tuple[Array, str] | None:
        other = None if name in self._values else self._elsewhere(name)
        return None if other is None else other.scope.known.typed(other.name)


@dataclass(frozen=True)
class Ref:
    """A value of a scope by name: an expression, or something known."""

    scope: Scope
    name: str

    @property
    def known(self) -> Array | None:
        """What importing knows of it."""
        return self.scope.known.get(self.name)

    @property
    def holds(self) -> bool | None:
        """Whether a condition is true, None where it depends on extents or on data."""
        known = self.known
        return None if known is None or known.dtype == object else bool(known.all())

    @staticmethod
    def to(value: RelaxExpr | Array) -> Ref:
        """A value that has no name in the model."""
        scope = Scope({})
        if isinstance(value, RelaxExpr):
            scope.bind("", value)
        else:
            scope.known.set("", value)
        return Ref(scope, "")
