"""All of `tvm.relax.analysis` under the module name that TVM gives it."""

from . import *  # noqa: F403
