"""The attributes' node types."""

from __future__ import annotations

import pytest

from tvm import ir
from tvm.relax.op import op_attrs

pytestmark = pytest.mark.pure

# The names of TVM v0.22, but those of operators on distributed tensors.
NAMES = """CallTIRWithGradAttrs InitAttrs TriluAttrs AstypeAttrs TakeAttrs StridedSliceAttrs
MatmulAttrs Conv2DAttrs Conv3DAttrs Conv2DTransposeAttrs Pool2DAttrs AdaptivePool2DAttrs
SoftmaxAttrs BatchNormAttrs LayerNormAttrs InstanceNormAttrs DropoutAttrs StatisticalAttrs
ConcatAttrs ExpandDimsAttrs PermuteDimsAttrs SortAttrs ArgsortAttrs SplitAttrs SqueezeAttrs
StackAttrs IndexPutAttrs LayoutTransformAttrs Resize2DAttrs ArgmaxArgminAttrs RepeatAttrs TileAttrs
ScanopAttrs TopKAttrs EinsumAttrs FlipAttrs PadAttrs MultinomialFromUniformAttrs
CallInplacePackedAttrs CallTIRInplaceAttrs ToVDeviceAttrs HintOnDeviceAttrs ScatterCollectiveAttrs
AttentionAttrs AllClassNonMaximumSuppressionAttrs Conv1DAttrs Conv1DTransposeAttrs Pool1DAttrs
Pool3DAttrs AdaptivePool1DAttrs AdaptivePool3DAttrs LeakyReluAttrs SoftplusAttrs PReluAttrs
PixelShuffleAttrs GroupNormAttrs RMSNormAttrs NLLLossAttrs AllReduceAttrs AllGatherAttrs
WrapParamAttrs QuantizeAttrs GatherElementsAttrs GatherNDAttrs MeshgridAttrs ScatterElementsAttrs
ScatterNDAttrs SliceScatterAttrs OneHotAttrs"""


@pytest.mark.parametrize("name", NAMES.split())
def test_names(name: str) -> None:
    cls = getattr(op_attrs, name)
    assert cls.TYPE_KEY == f"relax.attrs.{name}"
    assert name in dir(op_attrs)
    made = ir.make_node(cls.TYPE_KEY)
    assert made.keys() == list(cls.NAMES)


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'NoAttrs'"):
        _ = op_attrs.NoAttrs
