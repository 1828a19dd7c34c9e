"""Custom resources: what somebody defines by a CustomResourceDefinition, and the objects of it.

`definition_rules` keeps the definitions of a server, `definitions` says what a good one is and makes its resources,
`structural` what a good schema is. `rules` takes an object: it is pruned and gets its defaults (`shapes`), and is
checked (`validation`). `scale` is the one part that needs a verb of its own.
"""
