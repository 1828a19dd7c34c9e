"""The verbs of the API, one file each: what happens between a read request and its answer."""
