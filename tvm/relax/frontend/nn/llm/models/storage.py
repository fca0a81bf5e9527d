"""How the weights of a language model lie in memory: in 32 bits or fewer, for the products' sake.

    format              bits a weight   values
    float32             32
    float16, bfloat16   16
    int8                8.5             scale * q, -127 <= q <= 127, a scale for 32 weights of a row
    int4                4.5             scale * q, -8 <= q <= 7, a scale for 32 weights of a row
    int4 of AWQ, GPTQ   5               scale * (q - zero), 0 <= q <= 15, as the files have them

Numbers are widened in registers, within the product that reads them (`few_bits`); norms, biases and
positions stay in 32 bits. With weights in bfloat16, the inputs of products are rounded to bfloat16
as well, on every machine; sums stay in 32 bits (`pair_products`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, Protocol

import numpy as np

from tvm.error import ArgumentValueError, message
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import op
from tvm.relax.frontend.nn.core import Parameter, Tensor
from tvm.target import Target
from tvm.tir.function import PrimFunc
from tvm.topi.nn import few_bits, pair_products
from tvm.topi.nn.few_bits import GROUP, Packed

from .checkpoint import Array
from .grouped import Numbers

STORAGES: Final = few_bits.FORMATS


class Storage(Protocol):
    """Makes the modules that hold weights, and the arrays that they hold."""

    def linear(self, inputs: int, outputs: int, bias: bool) -> nn.Module:
        """A product with weights (outputs, inputs)."""
        ...

    def embedding(self, count: int, size: int) -> nn.Module:
        """A table of rows, which may also be the head."""
        ...

    def stored(
        self, name: str, values: Array, numbers: Numbers | None = None
    ) -> Mapping[str, Array]:
        """The arrays of the parameter `name`, by the names of the parameters that hold them.

        `numbers` are what `values` were widened from, where files have them.
        """
        ...


def make_storage(name: str, zeros: bool = False) -> Storage:
    """The storage of this name; with `zeros`, numbers of 4 bits have zero points."""
    if name not in STORAGES:
        raise ArgumentValueError(
            message("how weights are stored", found=repr(name), legal=", ".join(STORAGES))
        )
    return InLanes(name, zeros and name == "int4")


def is_matrix(name: str) -> bool:
    """Whether a parameter is the weights of a product or a table, not a norm or a bias."""
    return name.endswith(("_proj.weight", "lm_head.weight", "embed_tokens.weight"))


class InLanes:
    """Weights in one of the formats of `few_bits`."""

    def __init__(self, form: str, zeros: bool = False) -> None:
        self._form, self._zeros = form, zeros

    def linear(self, inputs: int, outputs: int, bias: bool) -> nn.Module:
        """A product with weights (outputs, inputs)."""
        return PackedLinear(inputs, outputs, bias, self._form, self._zeros)

    def embedding(self, count: int, size: int) -> nn.Module:
        """A table of rows, which may also be the head."""
        return PackedEmbedding(count, size, self._form, self._zeros)

    def stored(
        self, name: str, values: Array, numbers: Numbers | None = None
    ) -> Mapping[str, Array]:
        """Numbers, scales and zero points of weights; other values as they are."""
        if not is_matrix(name):
            return {name: np.asarray(values, "float32")}
        if self._zeros and numbers is not None:
            lanes = few_bits.in_lanes(numbers.values.astype("uint8"))
            parts = (few_bits.in_lanes(x.astype("float16")) for x in (numbers.scale, numbers.zero))
            return dict(zip(_names(name), (few_bits.in_words(lanes, 4), *parts)))
        packed, scale = few_bits.pack(values, self._form)
        if scale is None:
            return {name: packed}
        zero = [np.full(scale.shape, 8, "float16")] if self._zeros else []
        return dict(zip(_names(name), (packed, scale, *zero)))


def _names(name: str) -> tuple[str, str, str]:
    return name, name + "_scale", name + "_zero"


class _Weights(nn.Module):
    """Parameters that hold weights (outputs, inputs), and products with them."""

    def __init__(self, inputs: int, outputs: int, form: str, zeros: bool) -> None:
        super().__init__()
        self._inputs = inputs
        self._packed = Packed(outputs, -(-inputs // GROUP) * GROUP, form, zeros=zeros)
        self.weight = Parameter(self._packed.shape, self._packed.dtype)
        shape = self._packed.scale_shape
        if shape is not None:
            self.weight_scale = Parameter(shape, "float16")
            if zeros:
                self.weight_zero = Parameter(shape, "float16")

    def _arrays(self) -> list[Tensor]:
        if self._packed.scale_shape is None:
            return [self.weight]
        zeros = [self.weight_zero] if self._packed.zeros else []
        return [self.weight, self.weight_scale, *zeros]

    def _name(self, kind: str) -> str:
        form = self._packed
        return f"{kind}_{form.format}_{form.outputs}x{form.inputs}"

    def product(self, x: Tensor) -> Tensor:
        """(..., inputs) -> (..., outputs)"""
        *outer, _ = x.shape
        rows = op.reshape(x, (-1, self._inputs))
        missing = self._packed.inputs - self._inputs
        if missing:
            rows = op.pad(rows, [0, 0, 0, missing])
        count = rows.shape[0]
        single = 1 if count == 1 else None
        name = self._name("product" if single is None else "one_row_product")
        kernel: Callable[[str, Packed, int | None], PrimFunc] = few_bits.product
        if self._packed.format == "bfloat16":
            rows = op.astype(rows, "bfloat16")
            if pair_products.has_instruction(Target.current(allow_none=True)):
                kernel = pair_products.product
            else:
                rows = op.astype(rows, "float32")
        out = op.tensor_ir_op(
            _kernel(kernel, name, self._packed, single), name, [rows, *self._arrays()],
            Tensor.placeholder((count, self._packed.outputs), "float32"),
        )  # fmt: skip
        result: Tensor = op.reshape(out, (*outer, self._packed.outputs))
        return result


def _kernel(make: Callable[..., PrimFunc], *args: Any) -> PrimFunc:
    """The kernel that `make` gives, as a private function."""
    return _made_once(make, Target.current(allow_none=True), *args)


@lru_cache(maxsize=256)
def _made_once(make: Callable[..., PrimFunc], target: Target | None, *args: Any) -> PrimFunc:
    """Layers and methods of a network share kernels, and `make` reads the current target."""
    return make(*args).without_attr("global_symbol")


class PackedLinear(_Weights):
    """x @ weight^T + bias, with weights of few bits."""

    def __init__(
        self, inputs: int, outputs: int, bias: bool, form: str, zeros: bool = False
    ) -> None:
        super().__init__(inputs, outputs, form, zeros)
        self.bias = Parameter((outputs,), "float32") if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) -> (..., out)"""
        out = self.product(x)
        return out if self.bias is None else out + self.bias


class PackedEmbedding(_Weights):
    """Rows of a table of few bits, which may also be the head."""

    def __init__(self, count: int, size: int, form: str, zeros: bool = False) -> None:
        super().__init__(size, count, form, zeros)

    def forward(self, ids: Tensor) -> Tensor:
        """(tokens,) -> (tokens, size)"""
        name, form = self._name("rows"), self._packed
        rows = op.tensor_ir_op(
            _kernel(few_bits.rows_of, name, form), name, [ids, *self._arrays()],
            Tensor.placeholder((ids.shape[0], form.inputs), "float32"),
        )  # fmt: skip
        if form.inputs != self._inputs:
            rows = op.split(rows, [self._inputs], axis=1)[0]
        result: Tensor = rows
        return result

    def head(self, x: Tensor) -> Tensor:
        """(batch, length, size) -> (batch, length, count)"""
        return self.product(x)
