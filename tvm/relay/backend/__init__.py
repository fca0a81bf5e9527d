"""Running Relay: compiled by way of Relax, and interpreted where functions and data are values."""
