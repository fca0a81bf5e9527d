"""Data types of Relay programs, under the module name that scripts know."""

from tvm.support.lazy import lazy_names

__getattr__ = lazy_names(
    __name__, {"Constructor": "tvm.relay.adt:Constructor", "TypeData": "tvm.relay.adt:TypeData"}
)
