"""A node of attributes for tests: `make_node("attrs.TestAttrs", name="x", padding=(3, 4))`."""

from tvm.ir.sample_attrs import SampleAttrs as TestAttrs

__all__ = ["TestAttrs"]
