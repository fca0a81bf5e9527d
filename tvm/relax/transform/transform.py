"""All of `tvm.relax.transform` under the module name that TVM gives it."""

from . import *  # noqa: F403
