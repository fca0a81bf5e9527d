"""All of `tvm.relax.op.nn` under the module name that TVM gives it."""

from . import *  # noqa: F403
