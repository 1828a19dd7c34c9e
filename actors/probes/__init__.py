"""actors/probes."""
