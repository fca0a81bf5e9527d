"""Tools that look on while Relax programs are transformed."""
