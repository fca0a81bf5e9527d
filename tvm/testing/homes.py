"""Where each public helper lives."""

from __future__ import annotations

_FILES = {
    "calls": (
        "ErrorTest", "device_test", "echo", "identity_cpp", "nop", "object_use_count",
        "run_check_signal", "sleep_in_ffi",
        "test_check_eq_callback", "test_raise_error", "test_wrap_callback",
    ),
    "compare": ("CompareBeforeAfter",),
    "expressions": (
        "assert_prim_expr_equal", "check_bool_expr_is_true",
        "check_int_constraints_trans_consistency",
    ),
    "features": (
        "IS_IN_CI", "SKIP_SLOW_TESTS",
        "Feature", "is_ampere_or_newer", "requires_aprofile_aem_fvp", "requires_bnns",
        "requires_cmsisnn", "requires_coreml", "requires_corstone300", "requires_ethosn",
        "requires_ethosu", "requires_libtorch", "requires_micro", "requires_mrvl",
        "requires_vitis_ai", "skip_if_wheel_test", "slow", "requires_aarch64",
        "requires_aarch64_sme",
        "requires_aarch64_sve", "requires_arm_dot", "requires_arm_fp16", "requires_cublas",
        "requires_cuda", "requires_cuda_compute_version", "requires_cudagraph", "requires_cudnn",
        "requires_cutlass", "requires_gpu", "requires_hexagon", "requires_hipblas",
        "requires_llvm", "requires_llvm_minimum_version", "requires_matrixcore", "requires_metal",
        "requires_multi_gpu", "requires_nccl", "requires_nnapi",
        "requires_nvcc_version", "requires_nvptx", "requires_opencl", "requires_openclml",
        "requires_package", "requires_rocm", "requires_rpc", "requires_tensorcore",
        "requires_vulkan",
        "requires_x86", "requires_x86_amx", "requires_x86_avx512", "requires_x86_vnni",
        "skip_if_32bit", "skip_if_no_reference_system", "uses_gpu",
        "uses_multi_gpu",
    ),
    "numeric": ("assert_allclose", "check_numerical_grads", "get_dtype_range"),
    "parameters": (
        "fixture", "parameter", "parameters", "skip_parameterizations", "xfail_parameterizations",
    ),
    "popen_pool": (
        "after_initializer", "call_cpp_ffi", "call_cpp_py_ffi", "call_py_ffi", "fast_summation",
        "identity_py", "initializer", "register_ffi", "slow_summation", "timeout_job",
    ),
    "processes": ("identity_after", "install_request_hook", "main", "strtobool", "terminate_self"),
    "reduce": ("reduce",),
    "runner": ("local_run", "rpc_run"),
    "targets": (
        "DEFAULT_TEST_TARGETS",
        "device_enabled", "enabled_targets", "exclude_targets", "known_failing_targets",
        "parametrize_targets",
    ),
    "validate": ("ValidationError",),
}  # fmt: skip
HOMES = {name: f"tvm.testing.{file}:{name}" for file, names in _FILES.items() for name in names}
