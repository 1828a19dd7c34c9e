"""actors/resources/cgroups."""
