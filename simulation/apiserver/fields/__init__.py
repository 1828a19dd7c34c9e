"""Who owns which fields of an object: managed fields, and server-side apply by them. Pure.

`sets` is the algebra of sets of fields, `types` says how the fields of a type are owned, `published` and `custom` make
types. `comparison` says what changed between two objects, `merging` puts a configuration into one. `managers` has the
entries of `metadata.managedFields` and how a write changes them; `applying` is server-side apply. `resets` has the
fields that a request to an object, or to a part of it, never changes. `python -m tools.field_types` writes
`types.json`.

The rules are those of `sigs.k8s.io/structured-merge-diff` and of `k8s.io/apimachinery/pkg/util/managedfields`.
"""
