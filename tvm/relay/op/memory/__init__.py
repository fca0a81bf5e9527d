"""Storage and the tensors in it, as programs have them whose memory is planned."""

from .memory import alloc_storage as alloc_storage
from .memory import alloc_tensor as alloc_tensor
from .memory import flatten_tuple_type as flatten_tuple_type
from .memory import from_tuple_type as from_tuple_type
from .memory import kill as kill
from .memory import to_tuple_type as to_tuple_type
