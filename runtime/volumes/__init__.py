"""The volumes of pods on this machine: one file per kind, and what the kinds have in common."""
