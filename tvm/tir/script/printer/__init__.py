"""How TensorIR prints: importing this package registers a rule for each node class."""

from . import block as block
from . import buffer as buffer
from . import expr as expr
from . import func as func
from . import names as names
from . import stmt as stmt
from . import target as target

__all__ = ["block", "buffer", "expr", "func", "names", "stmt", "target"]
