"""Models of PyTorch to Relax modules: `from_exported_program(program)`, `from_fx(graph, inputs)`.

Torch is an extra: importing this package does not load it.
"""

from .dynamo import dynamo_capture_subgraphs, relax_dynamo
from .exported_program_translator import from_exported_program
from .fx_translator import from_fx

__all__ = ["dynamo_capture_subgraphs", "from_exported_program", "from_fx", "relax_dynamo"]
