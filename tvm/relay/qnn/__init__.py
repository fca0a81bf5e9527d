"""Quantized networks: integers that stand for real numbers, real = scale * (integer - zero).

The operators of `relay.qnn.op` say what is meant; `relay.qnn.transform.CanonicalizeOps` writes
them as integer arithmetic of plain Relay, which happens before a program is compiled or run.
"""

from . import op as op
from . import transform as transform
