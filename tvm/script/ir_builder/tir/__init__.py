"""Building TensorIR: the words of `T`."""

from typing import TYPE_CHECKING, Any

from tvm.script.forward import forward_dir, forward_names

_HOMES = ("tvm.tir.script.words", "tvm.tir.script.frames")
_find = forward_names(__name__, *_HOMES)
__dir__ = forward_dir(*_HOMES)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        # the class of buffers is no word: here, as in scripts, `T.Buffer(...)` declares one
        return _find("buffer" if name == "Buffer" else name)
