"""How the weights of a language model lie in memory: in 32 bits, or in fewer with scales.

    format     bits a weight   values
    float32    32
    float16    16
    bfloat16   16
    int8       8.5             scale * q,         -127 <= q <= 127, a scale for 32 weights of a row
    int4       4.5             scale * (q - 8),   0 <= q <= 15, a scale for 32 weights of a row

Numbers are widened in registers, within the product that reads them; norms, biases and positions
stay in 32 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

import ml_dtypes
import numpy as np

from tvm.error import ArgumentValueError, message
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import op
from tvm.relax.frontend.nn.core import Tensor

from .checkpoint import Array
from .decoder import Embedding, plain_linear


class Storage(Protocol):
    """Makes the modules that hold weights, and the arrays that they hold."""

    name: str

    def linear(self, inputs: int, outputs: int, bias: bool) -> nn.Module:
        """A product with weights (outputs, inputs)."""
        ...

    def embedding(self, count: int, size: int) -> nn.Module:
        """A table of rows, which may also be the head."""
        ...

    def stored(self, name: str, values: Array) -> Mapping[str, Array]:
        """The arrays of the parameter `name`, by the names of the parameters that hold them."""
        ...


def make_storage(name: str) -> Storage:
    """The storage of this name."""
    if name not in STORAGES:
        raise ArgumentValueError(
            message("how weights are stored", found=repr(name), legal=", ".join(STORAGES))
        )
    return STORAGES[name]


def is_matrix(name: str) -> bool:
    """Whether a parameter is the weights of a product or a table, not a norm or a bias."""
    return name.endswith((
        "_proj.weight", "lm_head.weight", "embed_tokens.weight",
    ))  # fmt: skip


class Plain:
    """Weights in the dtype of the numbers."""

    name = "float32"

    def linear(self, inputs: int, outputs: int, bias: bool) -> nn.Module:
        """A product with weights (outputs, inputs)."""
        return plain_linear(inputs, outputs, bias)

    def embedding(self, count: int, size: int) -> nn.Module:
        """A table of rows, which may also be the head."""
        return Embedding(count, size)

    def stored(self, name: str, values: Array) -> Mapping[str, Array]:
        """The values."""
        return {name: np.asarray(values, "float32")}


STORAGES: Final[Mapping[str, Storage]] = {"float32": Plain()}
