"""Passes over Relay."""

from .infer_type import InferType as InferType
