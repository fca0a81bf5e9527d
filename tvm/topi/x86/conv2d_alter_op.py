"""A door: convolutions in layouts that x86 likes."""

from tvm.support.lazy import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "_alter_conv2d_layout": "tvm.relay.op.by_target.x86:conv2d_alter_layout",
        "_conv2d_legalize": "tvm.relay.op.by_target.x86:conv2d_legalize",
    },
)
