"""Metrics of a node, and their text for Prometheus."""
