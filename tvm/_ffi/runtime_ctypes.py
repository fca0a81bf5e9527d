"""Devices and data types."""

from tvm.runtime._device import Device
from tvm.support.dtype import DataType, DataTypeCode

__all__ = ["DataType", "DataTypeCode", "Device"]
