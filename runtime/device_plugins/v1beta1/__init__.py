"""Device plugins: `deviceplugin.proto`, and what `python -m tools.protos` makes of it."""
