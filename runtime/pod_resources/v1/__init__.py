"""The interface v1 of what pods have: `pod_resources.proto` and what `python -m tools.protos` makes of it."""
