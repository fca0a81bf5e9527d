"""`tvmc run`: a package computes on arrays."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from tvm import rpc, runtime
from tvm.contrib import graph_executor
from tvm.error import TVMError
from tvm.relay.backend.vm_executable import load_exec
from tvm.runtime.executor import AotModule
from tvm.runtime.vm import VirtualMachine

from .errors import TVMCException
from .model import TVMCPackage, TVMCResult
from .result_utils import get_top_results
from .tracker import PORT, add_tracker_args

DEVICES: Final = ("cpu", "cuda", "cl", "metal", "vulkan", "rocm", "webgpu")
FILLS: Final = ("zeros", "ones", "random")


def add_run_parser(subparsers: Any, _: Any, config: Sequence[Mapping[str, Any]]) -> None:
    """The command's arguments, with what a configuration says as their defaults."""
    parser = subparsers.add_parser("run", help="run a compiled module")
    parser.set_defaults(func=drive_run)
    parser.add_argument("PATH", help="path of the package")
    parser.add_argument(
        "--device", choices=DEVICES, default="cpu", help="where it runs (default: cpu)"
    )
    parser.add_argument(
        "--fill-mode", choices=FILLS, default="random", help="what inputs get that are not given"
    )
    parser.add_argument("-i", "--inputs", help="file of numpy arrays, .npz, by names of inputs")
    parser.add_argument("-o", "--outputs", help="file of numpy arrays, .npz, to write")
    parser.add_argument("--print-time", action="store_true", help="measure, and print the times")
    parser.add_argument(
        "--print-top", type=int, metavar="N", help="print the N largest values of the first output"
    )
    parser.add_argument("--profile", action="store_true", help="print the time of each kernel")
    parser.add_argument(
        "--end-to-end", action="store_true", help="measure the copies to and from the device too"
    )
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="how often to measure (default: 1)"
    )
    parser.add_argument(
        "--number", type=int, default=1, metavar="N", help="runs of a measurement (default: 1)"
    )
    add_tracker_args(parser)
    for values in config:
        parser.set_defaults(**{name.replace("-", "_"): one for name, one in values.items()})


def drive_run(args: argparse.Namespace) -> int:
    """Do what the command line asks; 0."""
    inputs: dict[str, Any] = {}
    if args.inputs:
        try:
            with np.load(args.inputs) as read:
                inputs = dict(read)
        except (OSError, ValueError) as error:
            raise TVMCException(f"Error loading inputs file: {error}") from error
    host, port = args.rpc_tracker
    result = run_module(
        TVMCPackage(args.PATH), args.device, hostname=host, port=port or PORT, rpc_key=args.rpc_key,
        inputs=inputs, fill_mode=args.fill_mode, benchmark=args.print_time, repeat=args.repeat,
        number=args.number, profile=args.profile, end_to_end=args.end_to_end,
    )  # fmt: skip
    if args.print_time:
        print(result.format_times())
    if args.print_top:
        print(get_top_results(result, args.print_top))
    if args.outputs:
        if not Path(args.outputs).resolve().parent.is_dir():
            raise TVMCException(f"cannot write '{args.outputs}': no such folder")
        result.save(args.outputs)
    return 0


def generate_tensor_data(shape: tuple[int, ...], dtype: str, fill_mode: str) -> Any:
    """An array of zeros, ones or random numbers; integers are random below 128."""
    if fill_mode == "zeros":
        return np.zeros(shape, dtype)
    if fill_mode == "ones":
        return np.ones(shape, dtype)
    if fill_mode != "random":
        raise TVMCException(f"unknown fill-mode: {fill_mode}; legal: {', '.join(FILLS)}")
    if dtype in ("bool", "int8", "uint8") or "int" in dtype:
        return np.random.randint(2 if dtype == "bool" else 128, size=shape).astype(dtype)
    return np.random.uniform(size=shape).astype(dtype)


def get_input_info(
    graph_str: str, params: Mapping[str, Any]
) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
    """Shapes and types of a graph's inputs by name, parameters left out."""
    graph = json.loads(graph_str)
    shapes, types = graph["attrs"]["shape"][1], graph["attrs"]["dltype"][1]
    entries = {node: graph["node_row_ptr"][node] for node in graph["arg_nodes"]}
    names = {node: graph["nodes"][node]["name"] for node in entries}
    wanted = [node for node in entries if names[node] not in params]
    return (
        {names[node]: tuple(shapes[entries[node]]) for node in wanted},
        {names[node]: types[entries[node]] for node in wanted},
    )


def make_inputs_dict(
    shape_dict: Mapping[str, Any],
    dtype_dict: Mapping[str, str],
    inputs: Mapping[str, Any] | None = None,
    fill_mode: str = "random",
) -> dict[str, Any]:
    """An array for each input: the given one, or one that is filled.

    Raises TVMCException for names that no input has, and shapes that do not fit.
    """
    given = dict(inputs or {})
    for name in given:
        if name not in shape_dict:
            raise TVMCException(
                f"the input tensor '{name}' is not in the model. "
                f"Expected inputs: '{list(shape_dict)}'"
            )
    found: dict[str, Any] = {}
    for name, extents in shape_dict.items():
        shape = tuple(int(extent) for extent in extents)
        if name not in given:
            found[name] = generate_tensor_data(shape, dtype_dict[name], fill_mode)
            continue
        array = np.asarray(given[name])
        if array.shape != shape:
            raise TVMCException(
                f"input '{name}': found the shape {array.shape}; the model takes {shape}"
            )
        found[name] = array
    return found


def _session(hostname: str | None, port: int, rpc_key: str | None) -> Any:
    """A device of a tracker, or, without a key, of a server; None without a host."""
    if not hostname:
        return None
    if rpc_key is None:
        return rpc.connect(hostname, port)
    return rpc.connect_tracker(hostname, port).request(rpc_key)


def run_module(
    tvmc_package: TVMCPackage,
    device: str,
    hostname: str | None = None,
    port: int | str = PORT,
    rpc_key: str | None = None,
    inputs: Mapping[str, Any] | None = None,
    fill_mode: str = "random",
    benchmark: bool = False,
    repeat: int = 10,
    number: int = 10,
    profile: bool = False,
    end_to_end: bool = False,
) -> TVMCResult:
    """Run a package on a device, here or by RPC; outputs as arrays, and times with `benchmark`.

    Inputs that are not given are filled. `profile` prints the time of each kernel.
    """
    if not isinstance(tvmc_package, TVMCPackage):
        raise TVMCException(
            "tvmc_package must be non-None, please provide a valid object of type TVMCPackage."
        )
    if device not in DEVICES:
        raise TVMCException(f"unknown device '{device}'; legal: {', '.join(DEVICES)}")
    try:
        session = _session(hostname, int(port), rpc_key)
        place = session if session is not None else runtime
        dev = place.device("opencl" if device == "cl" else device, 0)
        if session is None:
            lib = tvmc_package.load_lib()
        else:
            session.upload(tvmc_package.lib_path)
            lib = session.load_module(tvmc_package.lib_name)
        return _ran(
            tvmc_package,
            lib,
            dev,
            inputs,
            fill_mode,
            benchmark,
            repeat,
            number,
            profile,
            end_to_end,
        )
    except TVMCException:
        raise
    except (TVMError, OSError, ValueError) as error:
        raise TVMCException(f"run '{tvmc_package.package_path}' on {device}: {error}") from error


def _ran(
    package: TVMCPackage, lib: Any, dev: Any, inputs: Mapping[str, Any] | None, fill_mode: str,
    benchmark: bool, repeat: int, number: int, profile: bool, end_to_end: bool,
) -> TVMCResult:  # fmt: skip
    module: Any
    if package.code is not None:
        return _ran_by_machine(package, lib, dev, inputs, benchmark, repeat, number)
    if package.graph is not None:
        module = graph_executor.create(package.graph, lib, dev)
        module.load_params(package.params)
    else:
        module = AotModule(lib["default"](dev))
    shapes, types = module.get_input_info()
    arrays = make_inputs_dict(shapes, types, inputs, fill_mode)
    for name, array in arrays.items():
        module.set_input(name, runtime.tensor(array, dev))
    if profile:
        machine = VirtualMachine(lib, dev, profile=True)
        print(machine.profile("main", *(runtime.tensor(array, dev) for array in arrays.values())))
    module.run()
    times: Any = []
    if benchmark:
        times = module.benchmark(dev, number=number, repeat=repeat, end_to_end=end_to_end)
    outputs = {
        f"output_{at}": module.get_output(at).numpy() for at in range(module.get_num_outputs())
    }
    return TVMCResult(outputs, times)


def _ran_by_machine(
    package: TVMCPackage, lib: Any, dev: Any, inputs: Mapping[str, Any] | None,
    benchmark: bool, repeat: int, number: int,
) -> TVMCResult:  # fmt: skip
    """As `_ran`, of a program of the virtual machine: it fills no inputs."""
    machine: Any = VirtualMachine(load_exec(package.code, lib), dev)
    given = {name: runtime.tensor(np.asarray(array), dev) for name, array in (inputs or {}).items()}
    found = machine.invoke("main", **given)
    times: Any = []
    if benchmark:
        times = machine.benchmark(
            dev, *given.values(), func_name="main", repeat=repeat, number=number
        )
    values = [found] if hasattr(found, "numpy") else list(found)
    return TVMCResult({f"output_{at}": value.numpy() for at, value in enumerate(values)}, times)
