"""The fields of tensors that `relax.inspect` operators read."""

from __future__ import annotations

from enum import IntEnum


class TVMStructFieldKind(IntEnum):
    """A field of DLTensor, as the third argument of `tir.tvm_struct_get`; the numbers are TVM's."""

    kArrAddr = 0
    kArrData = 1
    kArrShape = 2
    kArrStrides = 3
    kArrNDim = 4
    kArrTypeCode = 5
    kArrTypeBits = 6
    kArrTypeLanes = 7
    kArrByteOffset = 8
    kArrDeviceId = 9
    kArrDeviceType = 10
    kArrKindBound_ = 11
    kTVMValueContent = 12
    kTVMValueKindBound_ = 13
