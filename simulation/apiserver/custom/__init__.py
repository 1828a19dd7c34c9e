"""Custom resources: what somebody defines by a CustomResourceDefinition, and the objects of it.

`definitions` says what a good definition is, and `structural` what a good schema is; `resources` makes the served
resources of one, and `catalog` has those of a server. An object that comes is pruned (`pruning`), gets its `defaults`
and is checked (`validation`) by `rules`, as every kind of the server has rules; `scale` is the one part that needs a
verb of its own. What others are shown is in `published` (OpenAPI) and in the tables.
"""
