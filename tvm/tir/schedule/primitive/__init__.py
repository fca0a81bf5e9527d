"""One file a primitive: its trace form, what it checks, what it does."""
