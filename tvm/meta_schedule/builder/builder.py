"""What a builder is given, what it answers, and what it has to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from tvm.ffi.object import Object
from tvm.ir.module import IRModule
from tvm.meta_schedule.base import Component, unknown_kind
from tvm.runtime import Tensor
from tvm.target.target import Target


class BuilderInput(Object):
    """A module to compile for a target; `params` are constants that its functions take."""

    def __init__(
        self, mod: IRModule, target: Target, params: Mapping[str, Tensor] | None = None
    ) -> None:
        self.mod = mod
        self.target = target
        self.params = None if params is None else dict(params)


class BuilderResult(Object):
    """Where the compiled code lies, or why there is none."""

    def __init__(self, artifact_path: str | None, error_msg: str | None) -> None:
        self.artifact_path = artifact_path
        self.error_msg = error_msg


class Builder(Component):
    """Compiles modules."""

    def warm_up(self) -> None:
        """Begin to start what compiling will need; for kinds that have processes."""

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        """One result an input; errors of a module are results too."""
        self._missing("Build")

    @staticmethod
    def create(
        kind: Literal["local", "ray", "dask"] | Builder = "local", *args: Any, **kwargs: Any
    ) -> Builder:
        """The builder of a kind; a builder is its own."""
        if isinstance(kind, Builder):
            return kind
        from . import cluster_builder, local_builder  # which are of our kind

        kinds: dict[str, Callable[..., Builder]] = {
            "local": local_builder.LocalBuilder,
            "ray": cluster_builder.RayBuilder,
            "dask": cluster_builder.DaskBuilder,
        }
        if kind not in kinds:
            raise unknown_kind("Builder", kind, kinds)
        return kinds[kind](*args, **kwargs)


BuilderType: TypeAlias = Builder | Literal["local", "ray", "dask"]
Builder.BuilderType = BuilderType  # type: ignore[attr-defined]  # the name that signatures use
create = Builder.create


class PyBuilder(Builder):
    """The base of builders that users write."""
