"""The verbs of the interface, one module per subject.

Each verb is a function of the runtime and the request, called under the runtime's lock. It returns the answer or a
promise of it, or raises `CriRefusal`. A `select_` function finds what a list and its stream have in common.
"""
