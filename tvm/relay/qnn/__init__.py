"""Quantized networks: integers that stand for real numbers, real = scale * (integer - zero).

The operators of `relay.qnn.op` say what is meant; `relay.qnn.transform.CanonicalizeOps` writes
them as integer arithmetic of plain Relay, which happens before a program is compiled or run.
The operators are here, too: `relay.qnn.conv2d` is `relay.qnn.op.conv2d`.
"""

from . import op as op
from . import transform as transform
from .op.qnn import *
