"""Operators that gradients are written with."""

from .grad import (
    avg_pool2d_backward,
    end_checkpoint,
    max_pool2d_backward,
    nll_loss_backward,
    no_grad,
    start_checkpoint,
    take_backward,
)

__all__ = [
    "avg_pool2d_backward", "end_checkpoint", "max_pool2d_backward", "nll_loss_backward", "no_grad",
    "start_checkpoint", "take_backward",
]  # fmt: skip
