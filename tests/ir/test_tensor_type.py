"""Types of tensors of Relay by the module that scripts name."""

from tvm import relay
from tvm.ir.tensor_type import TensorType


def test_it_is_the_class_of_relay() -> None:
    assert TensorType is relay.TensorType
