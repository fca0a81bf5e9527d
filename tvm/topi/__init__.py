"""The operator library, written in tensor expressions: one definition each, for every target."""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_packages

from . import broadcast as broadcast
from . import nn as nn
from . import tag as tag
from . import utils as utils
from .broadcast import *
from .math import *  # type: ignore[assignment]
from .reduction import *
from .tensor import elemwise_sum, eye, full, full_like
from .transform import *
from .utils import InvalidShapeError

# shifts of tensors by tensors, not only by numbers as in `math`
left_shift = broadcast.left_shift
right_shift = broadcast.right_shift

if TYPE_CHECKING:
    from . import testing as testing
else:
    __getattr__ = lazy_packages(__name__, "testing", "image", "vision", "signal", "gpu")
