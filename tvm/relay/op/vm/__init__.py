"""What a program says to the machine that runs it."""

from .vm import invoke_tvm_op as invoke_tvm_op
from .vm import reshape_tensor as reshape_tensor
from .vm import shape_func as shape_func
from .vm import shape_of as shape_of
