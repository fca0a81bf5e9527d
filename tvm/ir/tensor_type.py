"""Types of tensors of Relay, under the module name that scripts know."""

from tvm.support.lazy import lazy_names

__getattr__ = lazy_names(__name__, {"TensorType": "tvm.relay.ty:TensorType"})
