"""Patterns of outside compilers, by the compiler's name; their modules load at first touch."""

from tvm.support.lazy import lazy_names

from .register import get_pattern_table as get_pattern_table
from .register import register_pattern_table as register_pattern_table

_PARTITIONS = {
    f"partition_for_{name}": f"tvm.relay.op.contrib.{name}:partition_for_{name}"
    for name in (
        "arm_compute_lib", "bnns", "clml", "cmsisnn", "cublas", "cudnn", "cutlass", "tensorrt",
    )
}  # fmt: skip

__getattr__ = lazy_names(__name__, _PARTITIONS)
