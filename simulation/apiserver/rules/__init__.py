"""The rules of built-in kinds: what a kube-apiserver refuses, and in which words.

`kinds/*.yaml` has the rules as data; `engine` applies them. `spelling` knows how names are written. `checks` are rules
that no form of the data can say. Pure.
"""
