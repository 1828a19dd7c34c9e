"""actors/pod_rules."""
