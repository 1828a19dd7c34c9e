"""Garbage collection: `ownership` decides about owned objects; `garbage_collector` acts on it."""
