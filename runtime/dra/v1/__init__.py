"""The interface v1 of drivers: `dra.proto`, and what `python -m tools.protos` makes of it."""
