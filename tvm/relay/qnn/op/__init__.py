"""Operators on quantized tensors."""

from . import qnn as qnn  # isort: split

from . import canonicalizations as canonicalizations
from . import legalizations as legalizations
from .op import register_qnn_canonicalize as register_qnn_canonicalize
from .op import register_qnn_legalize as register_qnn_legalize
from .qnn import *
