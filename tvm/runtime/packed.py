"""Functions of the runtime that are looked up by name."""

from __future__ import annotations

from tvm.ffi import register_global_func

from .module import enabled
from .params import load_param_dict, save_param_dict
from .threads import config_threads, thread_count


@register_global_func("runtime.NumThreads", override=True)
def num_threads() -> int:
    """Threads of a parallel region."""
    return thread_count()


@register_global_func("runtime.config_threadpool", override=True)
def config_threadpool(affinity_mode: int, thread_count: int = 0, *cores: object) -> None:
    """Set the number of threads; where they run is the system's choice."""
    config_threads(int(thread_count))


@register_global_func("runtime.RuntimeEnabled", override=True)
def runtime_enabled(target: str) -> bool:
    """Whether code for a target can run here."""
    return enabled(target)


@register_global_func("runtime.SaveParams", override=True)
def save_params(params: object) -> bytes:
    """Parameters as bytes."""
    assert hasattr(params, "items"), "a map from names to tensors"
    return save_param_dict(dict(params.items()))


@register_global_func("runtime.LoadParams", override=True)
def load_params(data: bytes) -> object:
    """Parameters of bytes."""
    return load_param_dict(data)
