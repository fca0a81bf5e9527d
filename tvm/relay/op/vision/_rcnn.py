"""A door: regions in wanted layouts; see `relay.op.layout_conversions`."""

from tvm.relay.op import layout_conversions as layout_conversions  # it sets them
from tvm.relay.op.rules_by_name import rules_by_name

__getattr__ = rules_by_name(
    __name__,
    "FTVMConvertOpLayout",
    {
        "convert_roi_align": "vision.roi_align",
        "convert_roi_pool": "vision.roi_pool",
    },
)
