"""Each source file has its test file: tvm/a/b.py has tests/a/test_b.py, or one that covers it."""

from __future__ import annotations

import pytest

from tests.structure.sources import PACKAGE, ROOT, show, sources

pytestmark = pytest.mark.pure

# Sources (or folders, ending in "/") whose test has another name, and why.
COMMANDS = "commands are tested as a user runs them, in a process of their own"
MAPS = "one subject: detection, division and inverses of maps check each other"
NORMS = ("tests/topi/nn/test_normalisations.py", "all share one formula")
CONVOLUTIONS = ("tests/topi/nn/test_convolutions.py", "all have one definition")
REARRANGED = ("tests/topi/nn/test_rearrangements.py", "they move elements and no more")
DOORS = ("tests/script/test_doors.py", "doors hold names and no logic")
NAMED = ("tests/ffi/test_api.py", "registered functions under another name")
TEXTS = "a node's text shows all rules at work"
_ONNX = "tests/relax/frontend/onnx"
_IMPORTER = (f"{_ONNX}/test_importer.py", "parts of the importer, which shows what they do")
_OPERATORS = (f"{_ONNX}/test_operators.py", "each operator is compared with ONNX Runtime")
_CONTROL = (f"{_ONNX}/test_control.py", "graphs within graphs, functions, loops")
_SIZES = (f"{_ONNX}/test_sizes.py", "what depends on extents")
_CASES = (f"{_ONNX}/test_conformance.py", "ONNX's own cases")
_SCHEDULE = "tests/tir/schedule"
QUESTIONS = (f"{_SCHEDULE}/primitive/test_queries.py", "primitives that only ask")
ONE_BUFFER = (f"{_SCHEDULE}/primitive/test_buffers_of_blocks.py", "how one buffer is kept")
STATE = (f"{_SCHEDULE}/test_state.py", "the state and what it is made of")
MOVES = (f"{_SCHEDULE}/primitive/test_compute_at.py", "what moving a block is made of")
COPIES = (f"{_SCHEDULE}/primitive/test_cache_read.py", "what copies of buffers are made of")
INLINED = (f"{_SCHEDULE}/primitive/test_compute_inline.py", "what inlining is made of")
_GPU = ("tests/backend/device/test_programs.py", "programs in all languages show it at work")
_BY_LLVM = ("tests/backend/llvm_gpu/test_programs.py", "the same programs, by LLVM")
_DEVICE_BUILD = ("tests/backend/device/test_build.py", "one line a language")
_BENCH = "tests/dlight/benchmark/test_bench.py"
_RULES = "tests/dlight/gpu"
_ON_GPUS = "tests/relax/backend/gpu_generic/test_pipeline.py"
BITS = ("tests/topi/nn/test_bitserial.py", "one plain arithmetic for all")
_META = "tests/meta_schedule"
_RELAY = "tests/relay"
_DETECTION = (f"{_RELAY}/op/test_vision.py", "against plain loops")
RELAY_TEXT = (f"{_RELAY}/test_text.py", "what is printed reads back")
RELAY_WORDS = (f"{_RELAY}/test_words.py", "words, and walks over them")
RELAY_RUN = (f"{_RELAY}/test_build_module.py", "one road from a program to its numbers")
_CALLBACKS = (f"{_META}/measure_callback/test_measure_callback.py", "all see one batch")
_SCHEDULERS = (f"{_META}/task_scheduler/test_task_scheduler.py", "all kinds pass the same tests")
_TOOLS = ("tests/contrib/test_tools.py", "each calls a program of another toolkit")
OLD_NAMES = ("tests/test_ffi_names.py", "names that were others before")
_RUNTIMES = ("tests/contrib/test_tflite_runtime.py", "each calls what another project registers")
BLAS = ("tests/contrib/test_cblas.py", "stages of libraries, which differ by a name")

COVERED_BY: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        (
            "tvm/report/costs.py", "tvm/report/graph.py", "tvm/report/machine_code.py",
            "tvm/report/memory.py", "tvm/report/recorder.py", "tvm/report/sample_inputs.py",
            "tvm/report/stages.py", "tvm/report/steps.py",
        ),
        ("tests/report/test_collector.py", "one program shows all parts"),
    ),
    **dict.fromkeys(
        (
            "tvm/exec/diff.py", "tvm/exec/explain.py", "tvm/exec/reports.py",
            "tvm/report/of_library.py", "tvm/report/second_choice.py", "tvm/report/server.py",
        ),
        ("tests/exec/test_view.py", "as users call them"),
    ),
    "tvm/tir/schedule/explain.py": ("tests/script/test_notebook.py", "what notebooks show"),
    "tvm/exec/peers.py": ("tests/exec/test_bench.py", "whom bench compares with"),
    "tvm/tir/access_rules.py": ("tests/tir/test_expr.py", "loads and stores are checked"),
    "tvm/meta_schedule/_ffi_api.py": NAMED,
    "tvm/rpc/_ffi_api.py": NAMED,
    "tvm/runtime/_ffi_api.py": NAMED,
    "tvm/target/_ffi_api.py": NAMED,
    "tvm/testing/_ffi_api.py": NAMED,
    "tvm/runtime/device.py": ("tests/runtime/test_container.py", "names of other modules"),
    "tvm/runtime/object_generic.py": ("tests/runtime/test_container.py", "one name"),
    "tvm/meta_schedule/feature_extractor/": (
        f"{_META}/feature_extractor/test_features.py", "features of known programs",
    ),
    "tvm/meta_schedule/lowered.py": (f"{_META}/postproc/test_postprocs.py", "lists of passes"),
    "tvm/meta_schedule/measure_candidate.py": (
        f"{_META}/search_strategy/test_strategies.py", "what strategies propose",
    ),
    "tvm/meta_schedule/mutator/": (f"{_META}/mutator/test_mutators.py", "each changes a trace"),
    "tvm/meta_schedule/postproc/": (f"{_META}/postproc/test_postprocs.py", "on small programs"),
    "tvm/meta_schedule/schedule_rule/": (
        f"{_META}/schedule_rule/test_rules.py", "rules on the same programs, alone and together",
    ),
    "tvm/meta_schedule/search_strategy/": (
        f"{_META}/search_strategy/test_strategies.py", "strategies search alike",
    ),
    "tvm/meta_schedule/space_generator/": (
        f"{_META}/space_generator/test_generators.py", "generators make spaces of one program",
    ),
    "tvm/arith/iter_map_expr.py": ("tests/arith/test_iter_affine_map.py", MAPS),
    "tvm/arith/iter_map_padding.py": ("tests/arith/test_iter_affine_map.py", MAPS),
    "tvm/backend/cuda/build.py": _DEVICE_BUILD,
    "tvm/backend/cuda/intrinsics.py": ("tests/backend/cuda/test_fragments.py", "of fragments"),
    "tvm/backend/cuda/math.py": ("tests/backend/cuda/test_codegen.py", "names of functions"),
    "tvm/backend/cuda/types.py": ("tests/backend/cuda/test_codegen.py", "names of types"),
    "tvm/backend/c_family/expr.py": _GPU,
    "tvm/backend/c_family/intrinsics.py": _GPU,
    "tvm/backend/c_family/stmt.py": _GPU,
    "tvm/backend/device/expr.py": _GPU,
    "tvm/backend/device/intrinsics.py": _GPU,
    "tvm/backend/device/kernels.py": _GPU,
    "tvm/backend/device/stmt.py": _GPU,
    "tvm/backend/device/text.py": _GPU,
    "tvm/backend/llvm_gpu/": _BY_LLVM,
    "tvm/backend/metal/build.py": _DEVICE_BUILD,
    "tvm/backend/nvptx/": _BY_LLVM,
    "tvm/runtime/device_api/pointers.py": (
        "tests/runtime/device_api/test_cuda.py", "CUDA and HIP have it in common"
    ),
    "tvm/backend/opencl/spirv.py": _BY_LLVM,
    "tvm/backend/rocm/amdgpu.py": _BY_LLVM,
    "tvm/backend/opencl/build.py": _DEVICE_BUILD,
    "tvm/backend/rocm/build.py": _DEVICE_BUILD,
    "tvm/backend/webgpu/build.py": _DEVICE_BUILD,
    "tvm/support/kernel_info.py": ("tests/runtime/test_device_module.py", "two fields"),
    "tvm/dlight/analysis/access.py": ("tests/dlight/analysis/test_gemv.py", "how matrices lie"),
    "tvm/dlight/gpu/base.py": (f"{_RULES}/test_fallback.py", "the form of all rules"),
    "tvm/dlight/gpu/einsum.py": (f"{_RULES}/test_matmul.py", "the form of all products"),
    "tvm/dlight/gpu/gemv_config.py": (f"{_RULES}/test_gemv.py", "numbers of its schedules"),
    "tvm/dlight/gpu/gemv_outer.py": (f"{_RULES}/test_gemv.py", "the other layout"),
    "tvm/dlight/gpu/inline.py": (f"{_RULES}/test_matmul.py", "what stands around products"),
    "tvm/dlight/gpu/matmul_dequantize.py": (f"{_RULES}/test_matmul.py", "products on phones"),
    "tvm/dlight/gpu/matmul_tiles.py": (f"{_RULES}/test_matmul.py", "products in registers"),
    "tvm/tir/tensor_intrin/cuda.py": (f"{_RULES}/test_tensor_core.py", "names of the next file"),
    "tvm/tir/tensor_intrin/metal.py": (f"{_RULES}/test_simdgroup.py", "run by its rule"),
    "tvm/tir/tensor_intrin/wmma.py": (f"{_RULES}/test_tensor_core.py", "run by its rule"),
    "tvm/tir/interp/simdgroup.py": (f"{_RULES}/test_simdgroup.py", "run by its rule"),
    "tvm/dlight/benchmark/extract.py": (_BENCH, "what is measured"),
    "tvm/dlight/benchmark/utils.py": (_BENCH, "sizes and tables of what is measured"),
    "tvm/relax/backend/library_checks.py": (
        "tests/relax/backend/cuda/test_cutlass.py", "asked by the patterns of libraries"
    ),
    "tvm/relax/backend/workspace.py": (
        "tests/relax/backend/cuda/test_cudnn.py", "shared by two libraries"
    ),
    "tvm/relax/backend/adreno/": (_ON_GPUS, "one list of passes for all GPUs"),
    "tvm/relax/backend/cuda/": (_ON_GPUS, "one list of passes for all GPUs"),
    "tvm/relax/backend/rocm/": (_ON_GPUS, "one list of passes for all GPUs"),
    "tvm/dlight/base/schedule_rule.py": ("tests/dlight/base/test_transform.py", "rules at work"),
    "tvm/dlight/cpu/base.py": ("tests/dlight/cpu/test_fallback.py", "the form of all rules"),
    "tvm/dlight/cpu/contraction.py": ("tests/dlight/cpu/test_gemm.py", "shared by two rules"),
    "tvm/dlight/cpu/general.py": ("tests/dlight/cpu/test_fallback.py", "blocks of any kind"),
    "tvm/contrib/graph_executor.py": RELAY_RUN,
    "tvm/contrib/relay_viz/": (
        "tests/contrib/relay_viz/test_relay_viz.py", "one drawing: what is told, and how it looks",
    ),
    "tvm/contrib/blas_stages.py": BLAS,
    "tvm/contrib/cublas.py": BLAS,
    "tvm/contrib/cublaslt.py": BLAS,
    "tvm/contrib/coreml_runtime.py": _RUNTIMES,
    "tvm/contrib/runtimes.py": _RUNTIMES,
    "tvm/contrib/rpc.py": OLD_NAMES,
    "tvm/runtime/object.py": OLD_NAMES,
    "tvm/runtime/packed_func.py": OLD_NAMES,
    "tvm/target/intrin.py": OLD_NAMES,
    "tvm/contrib/emcc.py": _TOOLS,
    "tvm/contrib/rocm.py": _TOOLS,
    "tvm/contrib/spirv.py": _TOOLS,
    "tvm/contrib/xcode.py": _TOOLS,
    "tvm/contrib/dnnl.py": BLAS,
    "tvm/contrib/hipblas.py": BLAS,
    "tvm/contrib/mkl.py": BLAS,
    "tvm/contrib/rocblas.py": BLAS,
    "tvm/_ffi/": OLD_NAMES,
    "tvm/runtime/vm_builtin_sequence.py": (
        f"{_ONNX}/test_given.py", "models that are given such"
    ),
    "tvm/runtime/tokens.py": (f"{_ONNX}/test_strings.py", "against ONNX Runtime"),
    "tvm/runtime/ndarray.py": ("tests/test_nd.py", "what tvm.nd shows"),
    "tvm/parser.py": (f"{_RELAY}/test_text.py", "by their newer names"),
    "tvm/relay/span_check.py": (f"{_RELAY}/analysis/test_parts.py", "a question"),
    "tvm/topi/sparse.py": (f"{_RELAY}/op/test_sparse.py", "against dense matrices"),
    "tvm/topi/random/": (f"{_RELAY}/op/test_random.py", "against the hash in numbers of Python"),
    "tvm/topi/vision/anchors.py": _DETECTION,
    "tvm/topi/vision/rcnn.py": _DETECTION,
    "tvm/topi/vision/suppression.py": _DETECTION,
    "tvm/relay/adt.py": RELAY_WORDS,
    "tvm/relay/analysis/": (f"{_RELAY}/analysis/test_analysis.py", "questions to small programs"),
    "tvm/relay/backend/": RELAY_RUN,
    "tvm/relay/base.py": RELAY_WORDS,
    "tvm/relay/data_dep_optimization/": (
        f"{_RELAY}/transform/test_to_sparse.py", "passes with the values of parameters"
    ),
    "tvm/relay/expr.py": RELAY_WORDS,
    "tvm/relay/expr_functor.py": RELAY_WORDS,
    "tvm/relay/function.py": RELAY_WORDS,
    "tvm/relay/from_relax/": (f"{_RELAY}/from_relax/test_translate.py", "the operators' cases"),
    "tvm/relay/loops.py": RELAY_RUN,
    "tvm/relay/op/": (f"{_RELAY}/op/test_numbers.py", "each operator is compared with numpy"),
    "tvm/relay/op/nn/": (f"{_RELAY}/op/test_nn_numbers.py", "as other operators, with loops"),
    "tvm/relay/param_dict.py": RELAY_RUN,
    "tvm/relay/parser.py": RELAY_TEXT,
    "tvm/relay/qnn/": (f"{_RELAY}/qnn/test_qnn.py", "quantized operators against numpy"),
    "tvm/relay/quantize/": (f"{_RELAY}/quantize/test_quantize.py", "small networks in integers"),
    "tvm/relay/forward_rewrite.py": (f"{_RELAY}/quantize/test_quantize.py", "what its passes use"),
    "tvm/relay/rewrite.py": RELAY_WORDS,
    "tvm/relay/scope_builder.py": RELAY_WORDS,
    "tvm/relay/testing/": (f"{_RELAY}/testing/test_networks.py", "small networks and helpers"),
    "tvm/relay/storage.py": (f"{_RELAY}/backend/test_graph_plan_memory.py", "what plans say"),
    "tvm/relay/text_literals.py": RELAY_TEXT,
    "tvm/relay/text_parser.py": RELAY_TEXT,
    "tvm/relay/text_printer.py": RELAY_TEXT,
    "tvm/relay/text_tokens.py": RELAY_TEXT,
    "tvm/relay/to_relax.py": RELAY_RUN,
    "tvm/relay/to_relax_types.py": RELAY_RUN,
    "tvm/relay/transform/": (f"{_RELAY}/transform/test_passes.py", "programs before and after"),
    "tvm/relay/traverse.py": RELAY_WORDS,
    "tvm/relay/ty.py": RELAY_WORDS,
    "tvm/relay/type_functor.py": RELAY_WORDS,
    "tvm/relay/variables.py": (f"{_RELAY}/analysis/test_analysis.py", "questions"),
    "tvm/relay/vm.py": RELAY_RUN,
    "tvm/meta_schedule/measure_callback/add_to_database.py": _CALLBACKS,
    "tvm/meta_schedule/measure_callback/remove_build_artifact.py": _CALLBACKS,
    "tvm/meta_schedule/measure_callback/update_cost_model.py": _CALLBACKS,
    "tvm/meta_schedule/task_scheduler/round_robin.py": _SCHEDULERS,
    "tvm/meta_schedule/task_scheduler/task_record.py": _SCHEDULERS,
    "tvm/tir/schedule/analysis/affine.py": STATE,
    "tvm/tir/schedule/analysis/cover.py": STATE,
    "tvm/tir/schedule/analysis/flags.py": STATE,
    "tvm/tir/schedule/analysis/query.py": QUESTIONS,
    "tvm/tir/schedule/analysis/users.py": (f"{_SCHEDULE}/analysis/test_blocks.py", "of blocks"),
    "tvm/tir/schedule/analysis/verify.py": STATE,
    "tvm/tir/schedule/arguments.py": COPIES,
    "tvm/tir/schedule/buffers.py": ONE_BUFFER,
    "tvm/tir/schedule/domains.py": MOVES,
    "tvm/tir/schedule/leaves.py": INLINED,
    "tvm/tir/schedule/loops.py": (f"{_SCHEDULE}/primitive/test_split.py", "what loops share"),
    "tvm/tir/schedule/primitive/add_unit_loop.py": ONE_BUFFER,
    "tvm/tir/schedule/primitive/enter_postproc.py": (f"{_SCHEDULE}/test_trace.py", "a mark"),
    "tvm/tir/schedule/primitive/get_block.py": QUESTIONS,
    "tvm/tir/schedule/primitive/get_child_blocks.py": QUESTIONS,
    "tvm/tir/schedule/primitive/get_consumers.py": QUESTIONS,
    "tvm/tir/schedule/primitive/get_loops.py": QUESTIONS,
    "tvm/tir/schedule/primitive/get_output_blocks.py": QUESTIONS,
    "tvm/tir/schedule/primitive/get_producers.py": QUESTIONS,
    "tvm/tir/schedule/primitive/reorder_block_iter_var.py": ONE_BUFFER,
    "tvm/tir/schedule/primitive/set_axis_separator.py": ONE_BUFFER,
    "tvm/tir/schedule/primitive/set_scope.py": ONE_BUFFER,
    "tvm/tir/schedule/primitive/storage_align.py": ONE_BUFFER,
    "tvm/tir/schedule/primitive/unsafe_set_dtype.py": ONE_BUFFER,
    "tvm/tir/schedule/random_variable.py": (f"{_SCHEDULE}/test_schedule.py", "two empty classes"),
    "tvm/tir/schedule/rebuild.py": INLINED,
    "tvm/tir/schedule/regions.py": INLINED,
    "tvm/tir/schedule/scopes.py": COPIES,
    "tvm/tir/schedule/trace_json.py": (f"{_SCHEDULE}/test_trace.py", "traces as JSON"),
    "tvm/tir/schedule/tree.py": STATE,
    "tvm/relax/script/frames.py": ("tests/relax/script/test_builder.py", "frames open by builders"),
    "tvm/relax/script/printer/": ("tests/relax/script/test_printer.py", TEXTS),
    "tvm/relax/script/values.py": ("tests/relax/script/test_words.py", "values are words"),
    "tvm/relax/script/well_formed.py": ("tests/relax/script/test_entry.py", "it ends a reading"),
    "tvm/relax/distributed/transform/transform.py": (
        "tests/relax/distributed/transform/test_legalize_redistribute.py", "names of the passes",
    ),
    "tvm/relax/testing/runtime_builtin.py": (
        "tests/relax/testing/test_vm.py", "names of the machine's codes",
    ),
    "tvm/script/forward.py": DOORS,
    "tvm/script/ir.py": DOORS,
    "tvm/script/ir_builder/ir/": DOORS,
    "tvm/script/ir_builder/relax/": DOORS,
    "tvm/script/ir_builder/tir/": DOORS,
    "tvm/script/ir_dialect/": (
        "tests/script/ir_dialect/test_module.py", "modules are read, built and printed as a whole",
    ),
    "tvm/script/parser/core/doc_core.py": ("tests/script/parser/core/test_doc.py", "its names"),
    "tvm/script/parser/core/error.py": (
        "tests/script/parser/core/test_diagnostics.py", "it becomes a diagnostic",
    ),
    "tvm/script/parser/ir/": DOORS,
    "tvm/script/parser/relax/": DOORS,
    "tvm/script/parser/tir/": DOORS,
    "tvm/script/relax.py": DOORS,
    "tvm/script/tir.py": DOORS,
    "tvm/script/tirx.py": ("tests/tirx/test_tirx.py", "doors under a newer name"),
    "tvm/support/gone.py": ("tests/test_ffi_names.py", "older names of packages"),
    "tvm/topi/cuda/": (f"{_RELAY}/op/test_by_target.py", "older homes of its functions"),
    "tvm/topi/x86/": (f"{_RELAY}/op/test_by_target.py", "older homes of its functions"),
    "tvm/tirx/": ("tests/tirx/test_tirx.py", "doors under a newer name"),
    "tvm/tir/script/frames.py": ("tests/tir/script/test_builder.py", "frames open by builders"),
    "tvm/tir/script/printer/": ("tests/tir/script/test_printer.py", TEXTS),
    "tvm/tir/script/well_formed.py": (
        "tests/script/parser/core/test_entry.py", "it ends a reading",
    ),
    "tvm/tir/script/words.py": ("tests/tir/script/test_entry.py", "words by their uses"),
    **{
        f"tvm/{package}/_ffi_api.py": ("tests/driver/test_found_by_name.py", "names of functions")
        for package in (
            "arith", "driver", "ir", "script", "script/ir_builder", "script/printer", "te", "tir",
            "tir/schedule", "tir/transform",
        )
    },
    **{
        f"tvm/relax/{package}/_ffi_api.py": (
            "tests/driver/test_relax_by_name.py", "names of functions",
        )
        for package in (
            "analysis", "op", "op/builtin", "op/ccl", "op/distributed", "op/grad", "op/image",
            "op/memory", "op/nn", "op/vm", "transform",
        )
    },
    "tvm/relax/dpl/_ffi.py": ("tests/driver/test_relax_by_name.py", "names of functions"),
    "tvm/ir/_ffi_transform_api.py": ("tests/driver/test_found_by_name.py", "names of functions"),
    "tvm/driver/node_functions.py": ("tests/driver/test_found_by_name.py", "every name of it"),
    "tvm/driver/schedule_functions.py": ("tests/driver/test_found_by_name.py", "every name of it"),
    "tvm/tir/analysis/_ffi_api.py": (
        "tests/tir/analysis/test_identify_memcpy.py", "one name of a function",
    ),
    "tvm/arith/iter_map_nodes.py": ("tests/arith/test_iter_affine_map.py", MAPS),
    "tvm/arith/iter_map_rewrite.py": ("tests/arith/test_iter_affine_map.py", MAPS),
    "tvm/arith/iter_map_subspace.py": ("tests/arith/test_iter_affine_map.py", MAPS),
    "tvm/arith/rules/": ("tests/arith/test_rules.py", "all rules are tried out by one test"),
    "tvm/tir/float_math/": (
        "tests/tir/float_math/test_float_math.py", "all functions are compared alike",
    ),
    "tvm/__main__.py": ("tests/end_to_end/test_cli.py", "two lines that call the command line"),
    **dict.fromkeys(
        (
            "tvm/driver/tvmc/composite_target.py", "tvm/driver/tvmc/config_options.py",
            "tvm/driver/tvmc/pass_config.py", "tvm/driver/tvmc/pass_list.py",
            "tvm/driver/tvmc/registry.py", "tvm/driver/tvmc/shape_parser.py",
            "tvm/driver/tvmc/target.py", "tvm/driver/tvmc/tracker.py",
            "tvm/driver/tvmc/transform.py",
        ),
        ("tests/driver/tvmc/test_arguments.py", "what stands on a command line"),
    ),
    **dict.fromkeys(
        (
            "tvm/driver/tvmc/__main__.py", "tvm/driver/tvmc/autotuner.py",
            "tvm/driver/tvmc/compiler.py", "tvm/driver/tvmc/errors.py",
            "tvm/driver/tvmc/frontends.py", "tvm/driver/tvmc/main.py",
            "tvm/driver/tvmc/model.py", "tvm/driver/tvmc/result_utils.py",
            "tvm/driver/tvmc/runner.py",
        ),
        ("tests/driver/tvmc/test_commands.py", "models on their way"),
    ),
    "tvm/exec/bench.py": ("tests/end_to_end/test_cli.py", COMMANDS),
    "tvm/exec/compile.py": ("tests/end_to_end/test_cli.py", COMMANDS),
    "tvm/exec/library.py": ("tests/end_to_end/test_cli.py", COMMANDS),
    "tvm/exec/run.py": ("tests/end_to_end/test_cli.py", COMMANDS),
    "tvm/relax/frontend/onnx/cache_buffers.py": (f"{_ONNX}/test_decoding.py", "its buffers"),
    "tvm/relax/frontend/onnx/written.py": (f"{_ONNX}/test_generation.py", "searches are written"),
    "tvm/relax/frontend/onnx/bodies.py": _CONTROL,
    "tvm/relax/frontend/onnx/evaluated.py": _IMPORTER,
    "tvm/relax/frontend/onnx/graph.py": _IMPORTER,
    "tvm/relax/frontend/onnx/known_values.py": _IMPORTER,
    "tvm/relax/frontend/onnx/known_rules.py": _SIZES,
    "tvm/relax/frontend/onnx/moving.py": _SIZES,
    "tvm/relax/frontend/onnx/recurrent_steps.py": (
        f"{_ONNX}/test_recurrent.py", "layers of known steps and of others"
    ),
    "tvm/relax/frontend/onnx/lanes.py": (
        f"{_ONNX}/test_recurrent_bytes.py", "of widths that divide hidden sizes"
    ),
    "tvm/relax/frontend/onnx/resize.py": _SIZES,
    "tvm/relax/frontend/onnx/ngrams.py": _CASES,
    "tvm/relax/frontend/onnx/repeat.py": _CONTROL,
    "tvm/relax/frontend/onnx/scope.py": _CONTROL,
    "tvm/relax/frontend/onnx/training.py": _CASES,
    "tvm/relax/frontend/onnx/node.py": _IMPORTER,
    "tvm/relax/frontend/onnx/registry.py": _IMPORTER,
    "tvm/relax/frontend/onnx/elementwise.py": _OPERATORS,
    "tvm/relax/frontend/onnx/image.py": _OPERATORS,
    "tvm/relax/frontend/onnx/quantized.py": _OPERATORS,
    "tvm/relax/frontend/fourier.py": (f"{_ONNX}/test_signal.py", "transforms are operators"),
    "tvm/relax/frontend/resampling.py": _OPERATORS,
    "tvm/relax/frontend/onnx/selection.py": _OPERATORS,
    "tvm/relax/frontend/onnx/window.py": _OPERATORS,
    "tvm/relax/frontend/onnx/linear.py": _OPERATORS,
    "tvm/relax/frontend/onnx/nn.py": _OPERATORS,
    "tvm/relax/frontend/onnx/reduction.py": _OPERATORS,
    "tvm/relax/frontend/onnx/shape.py": _OPERATORS,
    "tvm/relax/frontend/onnx/tensor.py": _OPERATORS,
    "tvm/target/nvidia_gpus.py": ("tests/target/test_tag.py", "a table of facts, read by tags"),
    "tvm/tir/stmt_functor.py": ("tests/tir/test_functor.py", "names of what is in functor.py"),
    "tvm/testing/utils.py": ("tests/testing/test_homes.py", "a door to the helpers"),
    "tvm/topi/nn/batch_norm.py": NORMS,
    "tvm/topi/nn/group_norm.py": NORMS,
    "tvm/topi/nn/instance_norm.py": NORMS,
    "tvm/topi/nn/layer_norm.py": NORMS,
    "tvm/topi/nn/norm_parts.py": NORMS,
    "tvm/topi/nn/rms_norm.py": NORMS,
    "tvm/topi/nn/conv1d.py": CONVOLUTIONS,
    "tvm/topi/nn/conv1d_transpose.py": CONVOLUTIONS,
    "tvm/tir/transform/softmax_parts.py": (
        "tests/tir/transform/test_softmax_quotients.py", "what the passes over softmax share",
    ),
    "tvm/topi/nn/conv2d.py": CONVOLUTIONS,
    "tvm/topi/nn/conv2d_transpose.py": CONVOLUTIONS,
    "tvm/topi/nn/conv3d.py": CONVOLUTIONS,
    "tvm/topi/nn/conv3d_transpose.py": CONVOLUTIONS,
    "tvm/topi/nn/conv_transpose_nd.py": CONVOLUTIONS,
    "tvm/topi/nn/depthwise_conv2d.py": CONVOLUTIONS,
    "tvm/topi/nn/batch_to_space_nd.py": REARRANGED,
    "tvm/topi/nn/depth_to_space.py": REARRANGED,
    "tvm/topi/nn/fifo_buffer.py": REARRANGED,
    "tvm/topi/nn/flatten.py": REARRANGED,
    "tvm/topi/nn/mapping.py": REARRANGED,
    "tvm/topi/nn/pixel_shuffle.py": REARRANGED,
    "tvm/topi/nn/space_to_batch_nd.py": REARRANGED,
    "tvm/topi/nn/space_to_depth.py": REARRANGED,
    "tvm/topi/testing/": ("tests/topi/testing/test_references.py", "one check for all references"),
    "tvm/topi/nn/bitserial_conv2d.py": BITS,
    "tvm/topi/nn/bitserial_dense.py": BITS,
    "tvm/topi/nn/bitserial_util.py": BITS,
    "tvm/topi/nn/bnn.py": BITS,
}


def _mirror(source: str) -> str:
    folder, _, name = source.removeprefix("tvm/").rpartition("/")
    return "/".join(filter(None, ["tests", folder, f"test_{name}"]))


def _cover(source: str) -> str:
    """The test file that the table gives the source, by its own name or its nearest folder."""
    name = source
    while name:
        if name in COVERED_BY:
            return COVERED_BY[name][0]
        head, _, _ = name.rstrip("/").rpartition("/")
        name = f"{head}/" if head else ""
    return _mirror(source)


def test_each_source_has_a_test() -> None:
    named = [show(p) for p in sources() if p.name != "__init__.py"]
    missing = [f"{s}: no {_cover(s)}" for s in named if not (ROOT / _cover(s)).is_file()]
    assert not missing, "\n" + "\n".join(missing)


def test_the_table_names_what_exists() -> None:
    gone = [name for name in COVERED_BY if not (ROOT / name).exists()]
    assert not gone
    assert PACKAGE.is_dir()
