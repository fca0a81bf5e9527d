"""A door: convolutions and pools in wanted layouts; see `relay.op.layout_conversions`."""

from tvm.relay.op import layout_conversions as layout_conversions  # it sets them
from tvm.relay.op.rules_by_name import rules_by_name

__getattr__ = rules_by_name(
    __name__,
    "FTVMConvertOpLayout",
    {
        "convert_conv2d": "nn.conv2d",
        "convert_conv2d_transpose": "nn.conv2d_transpose",
        "convert_conv3d": "nn.conv3d",
        "convert_conv3d_transpose": "nn.conv3d_transpose",
        "convert_deformable_conv2d": "nn.deformable_conv2d",
        "convert_max_pool2d": "nn.max_pool2d",
        "convert_avg_pool2d": "nn.avg_pool2d",
        "convert_global_max_pool2d": "nn.global_max_pool2d",
        "convert_global_avg_pool2d": "nn.global_avg_pool2d",
    },
)
