"""`tvmc compile`: a model becomes a package of code."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

from tvm import meta_schedule
from tvm.error import TVMError
from tvm.ir.instrument import PassTimingInstrument, PrintAfterAll, PrintBeforeAll
from tvm.ir.memory_pools import WorkspaceMemoryPools
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relay import vm
from tvm.relay.backend.compiled import kernels_of
from tvm.relay.backend.executor import Executor
from tvm.relay.backend.runtime import Runtime
from tvm.relay.build_module import build as relay_build
from tvm.relay.build_module import graph_passes
from tvm.runtime.files import write_beside
from tvm.target import Target

from . import composite_target, frontends
from .errors import TVMCException
from .model import TVMCModel, TVMCPackage
from .pass_config import parse_configs
from .pass_list import parse_pass_list_str
from .registry import generate_registry_args, reconstruct_registry_entity
from .shape_parser import parse_shape_string
from .target import generate_target_args, reconstruct_target_args, target_from_cli
from .transform import (
    apply_graph_transforms,
    generate_transform_args,
    parse_graph_transform_args,
)  # fmt: skip
from .workspace_pools import generate_workspace_pools_args, workspace_pools_recombobulate

DUMPS: Final = ("relay", "tir", "ll", "asm")


def add_compile_parser(subparsers: Any, _: Any, config: Sequence[Mapping[str, Any]]) -> None:
    """The command's arguments, with what a configuration says as their defaults."""
    parser = subparsers.add_parser("compile", help="compile a model.")
    parser.set_defaults(func=drive_compile)
    add_model_args(parser)
    parser.add_argument(
        "-o", "--output", default="module.tar", help="the package to write (default: module.tar)"
    )
    parser.add_argument(
        "-f",
        "--output-format",
        choices=["so", "tar"],
        default="so",
        help="form of the code in the package",
    )
    parser.add_argument(
        "--cross-compiler",
        default="",
        help="compiler that links the code, such as aarch64-linux-gnu-gcc",
    )
    parser.add_argument(
        "--cross-compiler-options", default="", help="its options, such as '-mfpu=neon-vfpv4'"
    )
    parser.add_argument(
        "--dump-code", default="", metavar="FORMAT,...",
        help=f"write the program beside the package as well: {', '.join(DUMPS)}",
    )  # fmt: skip
    parser.add_argument(
        "--use-vm", action="store_true", help="compile for the virtual machine"
    )
    generate_workspace_pools_args(parser)
    generate_registry_args(parser, Executor, "graph")
    generate_registry_args(parser, Runtime, "cpp")
    parser.add_argument(
        "--tuning-records", default="", metavar="PATH", help="what `tvmc tune` wrote"
    )
    parser.add_argument(
        "--pass-config",
        action="append",
        metavar="NAME=VALUE",
        help="option of passes; may stand repeatedly",
    )
    parser.add_argument(
        "-O",
        "--opt-level",
        type=int,
        choices=range(4),
        default=3,
        metavar="[0-3]",
        help="passes to run",
    )
    parser.add_argument(
        "--disabled-pass",
        type=parse_pass_list_str,
        default="",
        help="passes to leave out, with commas",
    )
    parser.add_argument("--module-name", default="default", help="name of the module in the code")
    parser.add_argument(
        "--print-pass-times", action="store_true", help="print the time of each pass"
    )
    parser.add_argument(
        "--print-ir-before", action="store_true", help="print the program before each pass"
    )
    parser.add_argument(
        "--print-ir-after", action="store_true", help="print the program after each pass"
    )
    for values in config:
        parser.set_defaults(**{name.replace("-", "_"): one for name, one in values.items()})


def add_model_args(parser: argparse.ArgumentParser) -> None:
    """The arguments that say which model is compiled, and for what."""
    parser.add_argument("FILE", help="path of the model")
    parser.add_argument(
        "--model-format", choices=frontends.get_frontend_names(), help="format of the model"
    )
    parser.add_argument(
        "--input-shapes",
        type=parse_shape_string,
        default=None,
        help='"input_name:[dim1,...] input_name2:[dim1,...]"',
    )
    generate_target_args(parser)
    generate_transform_args(parser)


def drive_compile(args: argparse.Namespace) -> int:
    """Do what the command line asks; 0."""
    if not args.target:
        raise TVMCException(
            "--target is missing; legal: a target such as llvm, or --config with one"
        )
    model = frontends.load_model(args.FILE, args.model_format, args.input_shapes)
    executor = reconstruct_registry_entity(args, Executor)
    runtime = reconstruct_registry_entity(args, Runtime)
    options = reconstruct_target_args(args)
    pools = None
    if args.workspace_pools:
        goal, partners = target_from_cli(args.target, options)
        pools = workspace_pools_recombobulate(args, [goal], partners)
    compile_model(
        model, args.target, opt_level=args.opt_level, executor=executor, runtime=runtime,
        tuning_records=args.tuning_records, package_path=args.output, cross=args.cross_compiler,
        cross_options=args.cross_compiler_options, output_format=args.output_format,
        dump_code=[one for one in args.dump_code.split(",") if one],
        disabled_pass=args.disabled_pass, pass_context_configs=args.pass_config,
        additional_target_options=options, mod_name=args.module_name,
        print_pass_times=args.print_pass_times, print_ir_before=args.print_ir_before,
        print_ir_after=args.print_ir_after, use_vm=args.use_vm, workspace_pools=pools,
        **parse_graph_transform_args(args),
    )  # fmt: skip
    return 0


def compile_model(
    tvmc_model: TVMCModel,
    target: str,
    opt_level: int = 3,
    executor: Executor | None = None,
    runtime: Runtime | None = None,
    tuning_records: str | None = None,
    package_path: str | None = None,
    cross: str | None = None,
    cross_options: str | None = None,
    output_format: str = "so",
    dump_code: Sequence[str] | str | None = None,
    target_host: str | None = None,
    disabled_pass: Sequence[str] | None = None,
    pass_context_configs: Sequence[str] | None = None,
    additional_target_options: Mapping[str, Mapping[str, Any]] | None = None,
    use_vm: bool = False,
    mod_name: str = "default",
    workspace_pools: WorkspaceMemoryPools | None = None,
    print_pass_times: bool = False,
    print_ir_before: bool = False,
    print_ir_after: bool = False,
    instruments: Sequence[Any] | None = None,
    **transform_args: Any,
) -> TVMCPackage:
    """Compile a model and write the package; `tvmc.run` takes it.

    `tuning_records` is a folder that `tvmc.tune` wrote. `pass_context_configs` are `name=value`
    texts, `workspace_pools` memory that a build is told of. With `use_vm` the package holds a
    program of the virtual machine. `transform_args`: desired_layout, desired_layout_ops,
    mixed_precision and its own.
    Raises TVMCException for targets, options and outputs that are not legal.
    """
    dumps = [dump_code] if isinstance(dump_code, str) else list(dump_code or ())
    unknown = [one for one in dumps if one not in DUMPS]
    if unknown:
        raise TVMCException(f"dump code {unknown[0]!r}; legal: {', '.join(DUMPS)}")
    if target_host:
        target = f"{target}, {target_host}"
    wanted, partners = target_from_cli(target, additional_target_options)
    options = parse_configs(pass_context_configs)
    mod = apply_graph_transforms(tvmc_model.mod, transform_args, tvmc_model.params)
    for partner in partners:
        mod = composite_target.partition(mod, tvmc_model.params, partner)
    watching = [*(instruments or ())]
    timing = PassTimingInstrument() if print_pass_times else None
    watching += [timing] if timing is not None else []
    watching += [PrintBeforeAll()] if print_ir_before else []
    watching += [PrintAfterAll()] if print_ir_after else []
    records: Any = None
    if tuning_records:
        if not Path(tuning_records).exists():
            raise TVMCException(f"tuning records '{tuning_records}' do not exist")
        records = meta_schedule.database.JSONDatabase(work_dir=tuning_records)
        options["relay.backend.use_meta_schedule"] = True
    try:
        with PassContext(
            opt_level=opt_level, config=options, disabled_pass=list(disabled_pass or ()),
            instruments=watching,
        ):  # fmt: skip
            with records if records is not None else nullcontext():
                built = build(mod, wanted, executor, runtime, tvmc_model.params, use_vm, mod_name,
                              workspace_pools)  # fmt: skip
            if timing is not None:
                print(f"Compilation time breakdown by pass:\n{timing.render()}")
    except TVMError as error:
        raise TVMCException(f"compile: {error}") from error
    path = package_path or tvmc_model.default_package_path()
    _save_dumps(Path(path), mod, built, dumps, wanted)
    return TVMCPackage(tvmc_model.export_package(built, path, cross, cross_options, output_format))


def build(
    mod: IRModule, tvm_target: Target | str, executor: Executor | None, runtime: Runtime | None,
    params: Mapping[str, Any] | None, use_vm: bool, mod_name: str,
    workspace_pools: WorkspaceMemoryPools | None,
) -> Any:  # fmt: skip
    """The module compiled for an executor, or for the virtual machine."""
    if use_vm:
        return vm.compile(mod, target=tvm_target, params=dict(params or {}))
    return relay_build(
        mod, target=tvm_target, executor=executor or Executor("graph"),
        runtime=runtime or Runtime("cpp"), params=params, mod_name=mod_name,
        workspace_memory_pools=workspace_pools,
    )  # fmt: skip


def _save_dumps(
    package: Path, mod: IRModule, built: Any, dumps: Sequence[str], target: Target
) -> None:
    """Write the program in other forms beside the package: net.tar.relay, net.tar.ll."""
    for form in dumps:
        if form == "relay":
            text = mod.astext()
        elif form == "tir":
            with target:
                text = kernels_of(graph_passes()(mod)).script()
        else:
            text = getattr(built, "get_lib", lambda: built.lib)().get_source(form)
        write_beside(f"{package}.{form}", text.encode())
