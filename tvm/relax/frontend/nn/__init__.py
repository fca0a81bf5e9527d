"""Networks as Python modules that export themselves to Relax.

    class MLP(nn.Module):
        def __init__(self):
            self.up = nn.Linear(8, 32)
            self.down = nn.Linear(32, 8)

        def forward(self, x):
            return self.down(nn.op.relu(self.up(x)))

    mod, params = MLP().export_tvm({"forward": {"x": nn.spec.Tensor(["n", 8], "float32")}})
"""

from . import op, spec
from .core import (
    Effect,
    Module,
    ModuleList,
    Object,
    Parameter,
    Tensor,
    get_default_dtype,
    set_default_dtype,
    wrap_nested,
)
from .exporter import Exporter, add_extern
from .extern import ExternModule, ObjectModule, SourceModule
from .modules import (
    GELU,
    Attention,
    Conv1D,
    Conv2D,
    Conv3D,
    ConvTranspose1D,
    Embedding,
    GroupNorm,
    Identity,
    IOEffect,
    KVCache,
    LayerNorm,
    Linear,
    ReLU,
    RMSNorm,
    SiLU,
    TimestepEmbedding,
    Timesteps,
)
from .op import *
from .subroutine import SubroutineMixin
from .visitor import Mutator

__all__ = [
    "GELU", "Attention", "Conv1D", "Conv2D", "Conv3D", "ConvTranspose1D", "Effect", "Embedding",
    "Exporter", "ExternModule", "GroupNorm", "IOEffect", "Identity", "KVCache", "LayerNorm",
    "Linear", "Module", "ModuleList", "Mutator", "Object", "ObjectModule", "Parameter", "RMSNorm",
    "ReLU", "SiLU", "SourceModule", "SubroutineMixin", "Tensor", "TimestepEmbedding", "Timesteps",
    "add_extern", "get_default_dtype", "op", "set_default_dtype", "spec", "wrap_nested",
    *op.__all__,
]  # fmt: skip
