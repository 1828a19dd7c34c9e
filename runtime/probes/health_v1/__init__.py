"""The gRPC health checking protocol: `health.proto` and what is made of it by `python -m tools.protos`."""
