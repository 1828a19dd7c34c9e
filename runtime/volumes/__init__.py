"""The volumes of pods on this machine's disk: one file per kind of volume, and what they have in common."""
