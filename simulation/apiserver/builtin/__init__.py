"""Built-in kinds that are stored as their published schema says.

`resources.yaml` lists them under `published`.

`schemas.json` has the facts of the OpenAPI documents that Kubernetes 1.36 publishes, and `schemas` reads it. `rules`
adds the pod templates to the rules of custom resources, which do all else. `protobuf` reads bodies of these and of all
other built-in kinds. `python -m tools.published_kinds` writes the JSON files.
"""
