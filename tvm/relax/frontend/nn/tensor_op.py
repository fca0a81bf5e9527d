"""Operators and methods of `nn.Tensor`, in terms of `nn.op`.

`nn.op` is made of tensors, so it is imported when a method is called; mypy sees it as Any.
"""
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from .core import Tensor

    Operand: TypeAlias = "float | Tensor"


def _op() -> Any:
    from . import op  # which is made of tensors

    return op


def _tensor(value: Operand, reference: Any) -> Any:
    """A number as a constant of the dtype of another operand."""
    from .core import Tensor

    if isinstance(value, (int, float)):
        return Tensor.from_scalar(value, dtype=reference.dtype)
    return value


class TensorOp:
    """What can be written with a tensor in front."""

    def __add__(self, other: Operand) -> Tensor:
        return _op().add(self, _tensor(other, self))

    def __radd__(self, other: Operand) -> Tensor:
        return _op().add(self, _tensor(other, self))

    def __sub__(self, other: Operand) -> Tensor:
        return _op().subtract(self, _tensor(other, self))

    def __rsub__(self, other: Operand) -> Tensor:
        return _op().subtract(_tensor(other, self), self)

    def __mul__(self, other: Operand) -> Tensor:
        return _op().multiply(self, _tensor(other, self))

    def __rmul__(self, other: Operand) -> Tensor:
        return _op().multiply(self, _tensor(other, self))

    def __truediv__(self, other: Operand) -> Tensor:
        return _op().divide(self, _tensor(other, self))

    def __rtruediv__(self, other: Operand) -> Tensor:
        return _op().divide(_tensor(other, self), self)

    def __neg__(self) -> Tensor:
        return _op().negative(self)

    def __lt__(self, other: Operand) -> Tensor:
        return _op().less(self, _tensor(other, self))

    def __le__(self, other: Operand) -> Tensor:
        return _op().less_equal(self, _tensor(other, self))

    def __gt__(self, other: Operand) -> Tensor:
        return _op().greater(self, _tensor(other, self))

    def __ge__(self, other: Operand) -> Tensor:
        return _op().greater_equal(self, _tensor(other, self))

    def __matmul__(self, other: Tensor) -> Tensor:
        return _op().matmul(self, other)

    def astype(self, dtype: str) -> Tensor:
        """The elements in another dtype."""
        return _op().astype(self, dtype)

    def maximum(self, other: Operand) -> Tensor:
        """The larger of two elements, each."""
        return _op().maximum(self, _tensor(other, self))

    def minimum(self, other: Operand) -> Tensor:
        """The smaller of two elements, each."""
        return _op().minimum(self, _tensor(other, self))

    def reshape(self, *shape: Any) -> Tensor:
        """The elements in another shape, given as one sequence or one by one."""
        return _op().reshape(self, _one_or_several(shape))

    def permute_dims(self, *axes: Any) -> Tensor:
        """The axes in another order; reversed if none is given."""
        return _op().permute_dims(self, _one_or_several(axes) or None)

    def permute(self, *axes: Any) -> Tensor:
        """The axes in another order; reversed if none is given."""
        return _op().permute(self, _one_or_several(axes) or None)

    def repeat(self, repeats: int, axis: int | None = None) -> Tensor:
        """Each element some times, along an axis."""
        return _op().repeat(self, repeats, axis)

    def squeeze(self, axis: int = -1) -> Tensor:
        """Without an axis of extent 1."""
        return _op().squeeze(self, axis)

    def unsqueeze(self, dim: int) -> Tensor:
        """With an axis of extent 1 more."""
        return _op().unsqueeze(self, dim)

    def sum(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        """The sum along axes."""
        return _op().sum(self, axis, keepdims)

    def broadcast_to(self, *shape: Any) -> Tensor:
        """The elements repeated to a shape."""
        return _op().broadcast_to(self, _one_or_several(shape))

    def split(self, indices_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
        """Parts along an axis."""
        return _op().split(self, indices_or_sections, axis)


def _one_or_several(values: tuple[Any, ...]) -> Any:
    if len(values) == 1 and isinstance(values[0], (list, tuple)):
        return list(values[0])
    return list(values)
