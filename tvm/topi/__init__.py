"""The operator library, written in tensor expressions: one definition each, for every target."""

from typing import TYPE_CHECKING

from . import broadcast as broadcast
from . import nn as nn
from . import sparse as sparse
from . import tag as tag
from . import utils as utils
from .broadcast import *
from .einsum import einsum
from .index_put import index_put
from .math import *  # type: ignore[assignment]
from .reduction import *
from .scan import cumprod, cumsum, scanop
from .scatter import scatter_nd
from .scatter_elements import scatter_elements, scatter_elements_mean
from .searchsorted import searchsorted
from .signal import dft, stft
from .slice_scatter import slice_scatter
from .sort import argsort, sort, topk
from .sparse_reshape import sparse_reshape
from .tensor import elemwise_sum, eye, full, full_like
from .transform import *
from .utils import (
    InvalidShapeError,
    const_vector,
    get_const_int,
    get_const_tuple,
    make_idx,
    within_index,
)

# shifts of tensors by tensors, not only by numbers as in `math`
left_shift = broadcast.left_shift
right_shift = broadcast.right_shift

if TYPE_CHECKING:
    from . import testing as testing
