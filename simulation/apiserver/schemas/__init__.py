"""Schemas of built-in and custom kinds alike, and what is done by them. Pure.

`published` has those of Kubernetes (`published.json`), `structural` checks those of definitions (`definition.yaml`).
`shapes` prunes, sets defaults and merges; `validation` checks an object, with `formats`. `protobuf` reads bodies of
built-in kinds. `python -m tools.published_kinds` writes the JSON files.
"""
