"""A door: products padded to the tiles of tensor cores."""

from tvm.support.lazy import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "_batch_matmul_legalize": "tvm.relay.op.by_target.cuda:batch_matmul_legalize",
        "_dense_legalize": "tvm.relay.op.by_target.cuda:dense_legalize",
        "pad_to_tensorcore": "tvm.relay.op.by_target.cuda:pad_to_tensorcore",
    },
)
