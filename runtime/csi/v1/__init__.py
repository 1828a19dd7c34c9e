"""The container storage interface: `csi.proto` and what is made of it by `python -m tools.protos`."""
