"""Matrices of which only the numbers that are not zero are kept, row after row (CSR)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tvm import te
from tvm.ir.expr import PrimExpr
from tvm.runtime import Tensor
from tvm.runtime import tensor as to_tensor

itype: Final = "int32"  # of positions


class UnsupportedFormError(NotImplementedError):
    """A sparse form other than CSR was asked for."""

    def __init__(self, stype: str) -> None:
        super().__init__(f"stype={stype} is not supported yet; legal: 'csr'")


class CSRNDArray:
    """A matrix as its numbers, their columns, and where rows start.

    `arg1` is a matrix of numpy, or (data (n,), indices (n,), indptr (rows + 1,)) as tensors,
    with the `shape` that they are of. Positions are int32.
    """

    def __init__(self, arg1: Any, device: Any = None, shape: Sequence[int] | None = None) -> None:
        self.stype: Final = "csr"
        if isinstance(arg1, tuple):
            if len(arg1) != 3 or not all(isinstance(part, Tensor) for part in arg1):
                kinds = ", ".join(type(part).__name__ for part in arg1)
                raise TypeError(
                    f"CSRNDArray: a tuple of {kinds}; legal: three tensors: data, indices, indptr"
                )
            if shape is None:
                raise ValueError("CSRNDArray: parts without a shape; legal: shape=(rows, columns)")
            self.data, self.indices, self.indptr = arg1
            self.shape: tuple[int, ...] = tuple(shape)
        elif isinstance(arg1, np.ndarray):
            if arg1.ndim != 2:
                raise ValueError(f"CSRNDArray: an array of {arg1.ndim} dimensions; legal: 2")
            rows, columns = np.nonzero(arg1)
            starts = np.concatenate([[0], np.cumsum(np.count_nonzero(arg1, axis=1))])
            self.data = to_tensor(arg1[rows, columns], device)
            self.indices = to_tensor(columns.astype(itype), device)
            self.indptr = to_tensor(starts.astype(itype), device)
            self.shape = arg1.shape
        else:
            raise RuntimeError(
                f"CSRNDArray: built of a {type(arg1).__name__}; legal: a tuple (data, indices, "
                "indptr) of tensors, or an array of numpy"
            )
        self.dtype = self.data.dtype

    def numpy(self) -> np.ndarray[Any, Any]:
        """The whole matrix, zeros and all."""
        full = np.zeros(self.shape, self.dtype)
        starts = self.indptr.numpy()
        rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        full[rows, self.indices.numpy()] = self.data.numpy()
        return full

    def asnumpy(self) -> np.ndarray[Any, Any]:
        """`numpy`, by its older name."""
        return self.numpy()


def array(
    source_array: Any, device: Any = None, shape: Sequence[int] | None = None, stype: str = "csr"
) -> CSRNDArray:
    """The sparse form of a matrix; see `CSRNDArray`. UnsupportedFormError for other forms."""
    if stype == "csr":
        return CSRNDArray(source_array, device, shape)
    raise UnsupportedFormError(stype)


class SparsePlaceholderOp:
    """A sparse matrix that is given when a kernel runs."""

    def __init__(self, shape: Sequence[Any], nonzeros: Any, dtype: str, name: str) -> None:
        self.shape, self.dtype, self.name = shape, dtype, name
        self.stype = "unknown"


class CSRPlaceholderOp(SparsePlaceholderOp):
    """Placeholders NAME_data, NAME_indices (`nonzeros`,) and NAME_indptr (rows + 1,)."""

    def __init__(self, shape: Sequence[Any], nonzeros: Any, dtype: str, name: str) -> None:
        super().__init__(shape, nonzeros, dtype, name)
        self.stype = "csr"
        self.data = te.placeholder((nonzeros,), dtype, f"{name}_data")
        self.indices = te.placeholder((nonzeros,), itype, f"{name}_indices")
        self.indptr = te.placeholder((shape[0] + 1,), itype, f"{name}_indptr")


def placeholder(
    shape: Any, nonzeros: Any = None, dtype: str | None = None, name: str = "placeholder",
    stype: str | None = None,
) -> CSRPlaceholderOp:  # fmt: skip
    """A sparse matrix of `shape` with `nonzeros` numbers as placeholders; float32 by default.

    UnsupportedFormError for forms other than CSR.
    """
    if stype not in (None, "csr"):
        raise UnsupportedFormError(stype)
    extents = (shape,) if isinstance(shape, (int, PrimExpr)) else shape
    return CSRPlaceholderOp(extents, 0 if nonzeros is None else nonzeros, dtype or "float32", name)
