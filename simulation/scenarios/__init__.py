"""The library of scenarios, one YAML file each, and the JSON schema of their format; read by
`simulation.scenarios.scenario`.
"""
