"""Garbage collection: `ownership` decides what becomes of owned objects, `garbage_collector` carries it out."""
