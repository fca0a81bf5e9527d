"""Runs of graphs that keep what lies between kernels."""
