"""The kinds that are served, as data.

`table` (`table.yaml`) has those of every server, `catalog` those of one server.

`definitions` makes kinds of custom resource definitions, and `structs` knows the kinds that `config` describes.
"""
