"""The registration of plugins: `registration.proto` and what is made of it by `python -m tools.protos`."""
