"""A door: products in layouts that x86 likes."""

from tvm.support.lazy import lazy_names

__getattr__ = lazy_names(
    __name__, {"_alter_dense_layout": "tvm.relay.op.by_target.x86:dense_alter_layout"}
)
