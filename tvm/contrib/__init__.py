"""Adaptors to tools and libraries outside."""
