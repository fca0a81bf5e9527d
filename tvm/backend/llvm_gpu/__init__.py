"""Kernels by LLVM's own code generators for GPUs: what NVPTX, AMDGPU and SPIR-V share."""
