"""What tests of Relax programs use: registered functions, codes of the machine, comparisons."""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_names

if TYPE_CHECKING:
    from . import lib_comparator as lib_comparator
    from . import runtime_builtin as runtime_builtin
    from . import vm as vm
else:
    __getattr__ = lazy_names(__name__, {}, ("lib_comparator", "runtime_builtin", "vm"))
