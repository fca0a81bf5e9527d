"""The dialect-free half of the parser: sources, syntax, names, expressions, dispatch."""
