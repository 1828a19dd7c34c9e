"""Bodies in protobuf: `bodies.proto` and what is made of it by `python -m tools.protos`."""

PROTOBUF = "application/vnd.kubernetes.protobuf"
"""Their media type."""
