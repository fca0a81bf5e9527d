"""Other forms that programs of Relay are written in."""
