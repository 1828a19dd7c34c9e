"""Custom resources: what somebody defines by a CustomResourceDefinition, and the objects of it.

`definition.yaml` describes a definition and the schemas in it. `definition_rules` keeps the definitions of a server,
`definitions` checks what compares several fields and makes the resources, `structural` does the same for a schema.
`rules` takes an object: it is pruned and gets its defaults (`shapes`), and is checked (`validation`, `formats`).
`scale` is the one part that needs a verb of its own.
"""
