"""Gradients of operators: rules that write the operands' gradients as Relax expressions.

A rule gets the variable that holds the result, the call, the result's gradient, and the builder.
It gives one expression for each operand; `no_grad(operand)` where none flows.
"""

from . import (
    attention,
    backward,
    convolution,
    elementwise,
    indexing,
    linear,
    manipulate,
    nn,
    norm,
    pooling,
    reduction,
)

__all__ = [
    "attention", "backward", "convolution", "elementwise", "indexing", "linear", "manipulate", "nn",
    "norm", "pooling", "reduction",
]  # fmt: skip
