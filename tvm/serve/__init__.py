"""Language models that answer: a compiled model, an engine for many requests, a server."""
