"""A door: pictures in wanted layouts; see `relay.op.layout_conversions`."""

from tvm.relay.op import layout_conversions as layout_conversions  # it sets them
from tvm.relay.op.rules_by_name import rules_by_name

__getattr__ = rules_by_name(
    __name__,
    "FTVMConvertOpLayout",
    {
        "convert_image_resize1d": "image.resize1d",
        "convert_image_resize2d": "image.resize2d",
    },
)
