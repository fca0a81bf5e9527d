"""Models of other frameworks in Relay, read by Relax's importers."""

from . import common as common
from .onnx import from_onnx as from_onnx
from .pytorch import from_pytorch as from_pytorch
