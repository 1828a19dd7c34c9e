"""The interface itself: `api.proto`, written here, and the Python modules made from it by `tools.protos`."""
