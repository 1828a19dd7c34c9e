"""Second versions of built-in kinds: the same stored objects, in the fields of another version.

`conversions.py` says which kinds have one, and how a conversion is used; each other file converts one kind. Custom
kinds have the same fields in all versions, and need nothing of this. Pure.
"""
