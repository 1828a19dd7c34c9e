"""Notices of a machine's shutdown, and how a node delays it (spec 9.7)."""
