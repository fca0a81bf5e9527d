"""A door: quantized operators in wanted layouts; see `relay.op.layout_conversions`."""

from tvm.relay.op.rules_by_name import rules_by_name
from tvm.relay.qnn.op import qnn as qnn  # it sets them

__getattr__ = rules_by_name(
    __name__,
    "FTVMConvertOpLayout",
    {
        "convert_qnn_conv2d": "qnn.conv2d",
        "convert_qnn_conv2d_transpose": "qnn.conv2d_transpose",
        "convert_qnn_avg_pool2d": "qnn.avg_pool2d",
    },
)
