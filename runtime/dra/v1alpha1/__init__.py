"""The health of devices of drivers: `dra_health.proto`, and what `python -m tools.protos` makes of it."""
