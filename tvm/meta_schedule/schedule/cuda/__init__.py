"""Schedules of blocks for GPUs with CUDA's kind of threads."""
