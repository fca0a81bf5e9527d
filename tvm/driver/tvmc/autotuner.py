"""`tvmc tune`: a search for faster kernels of a model, by MetaSchedule."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tvm import meta_schedule
from tvm.error import TVMError
from tvm.meta_schedule.relay_integration import tune_relay

from . import frontends
from .compiler import add_model_args
from .errors import TVMCException
from .model import TVMCModel
from .target import reconstruct_target_args, target_from_cli
from .tracker import PORT, add_tracker_args
from .transform import apply_graph_transforms, parse_graph_transform_args


def add_tune_parser(subparsers: Any, _: Any, config: Sequence[Mapping[str, Any]]) -> None:
    """The command's arguments, with what a configuration says as their defaults."""
    parser = subparsers.add_parser("tune", help="auto-tune a model")
    parser.set_defaults(func=drive_tune)
    add_model_args(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="PATH", help="folder for the records"
    )
    parser.add_argument(
        "--trials", type=int, default=10000, metavar="N", help="kernels to measure (default: 10000)"
    )
    parser.add_argument(
        "--number", type=int, default=10, metavar="N", help="runs of a measurement (default: 10)"
    )
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="measurements of a kernel (default: 1)"
    )
    parser.add_argument(
        "--min-repeat-ms",
        type=int,
        default=0,
        metavar="MS",
        help="shortest measurement (default: 0)",
    )
    parser.add_argument(
        "--timeout",
        type=int,
        default=10,
        metavar="S",
        help="seconds for a measurement (default: 10)",
    )
    parser.add_argument("--seed", type=int, default=None, metavar="N", help="of the search")
    add_tracker_args(parser)
    for values in config:
        parser.set_defaults(**{name.replace("-", "_"): one for name, one in values.items()})


def drive_tune(args: argparse.Namespace) -> int:
    """Do what the command line asks; 0."""
    if not args.target:
        raise TVMCException("--target is missing; legal: a target such as llvm -num-cores=4")
    host, port = args.rpc_tracker
    if host and not args.rpc_key:
        raise TVMCException("need to provide an RPC tracker key (--rpc-key) for remote tuning")
    tune_model(
        frontends.load_model(args.FILE, args.model_format, args.input_shapes), args.target,
        tuning_records=args.output, trials=args.trials, hostname=host, port=port or PORT,
        rpc_key=args.rpc_key, number=args.number, repeat=args.repeat,
        min_repeat_ms=args.min_repeat_ms, timeout=args.timeout, seed=args.seed,
        additional_target_options=reconstruct_target_args(args),
        **parse_graph_transform_args(args),
    )  # fmt: skip
    return 0


def tune_model(
    tvmc_model: TVMCModel,
    target: str,
    tuning_records: str | None = None,
    rpc_key: str | None = None,
    hostname: str | None = None,
    port: int | str = PORT,
    trials: int = 10000,
    target_host: str | None = None,
    min_repeat_ms: int = 0,
    timeout: int = 10,
    repeat: int = 1,
    number: int = 10,
    seed: int | None = None,
    additional_target_options: Mapping[str, Mapping[str, Any]] | None = None,
    **transform_args: Any,
) -> str:
    """Search with `trials` measurements; the folder of records, which `tvmc.compile` takes.

    A search that is asked again goes on from the records of the folder. With `hostname` and
    `rpc_key` devices of a tracker measure.
    """
    wanted, _ = target_from_cli(
        f"{target}, {target_host}" if target_host else target, additional_target_options
    )
    folder = tuning_records or tvmc_model.default_tuning_records_path()
    if Path(folder).is_file():
        raise TVMCException(
            f"tuning records '{folder}': found a file; legal: a folder, which may be new"
        )
    mod = apply_graph_transforms(tvmc_model.mod, transform_args, tvmc_model.params)
    measured = meta_schedule.runner.EvaluatorConfig(
        number=number, repeat=repeat, min_repeat_ms=min_repeat_ms
    )
    if hostname:
        if not rpc_key:
            raise TVMCException("need to provide an RPC tracker key (rpc_key) for remote tuning")
        device = meta_schedule.runner.RPCConfig(
            tracker_host=hostname, tracker_port=int(port), tracker_key=rpc_key,
            session_timeout_sec=timeout,
        )  # fmt: skip
        runner: Any = meta_schedule.runner.RPCRunner(device, evaluator_config=measured)
    else:
        runner = meta_schedule.runner.LocalRunner(timeout_sec=timeout, evaluator_config=measured)
    try:
        tune_relay(mod, tvmc_model.params, wanted, folder, trials, runner=runner, seed=seed)
    except (TVMError, ValueError) as error:
        raise TVMCException(f"tune: {error}") from error
    return folder
