"""One file per verb of the interface, named for it; a streaming list lives with the plain one.

Each is a function of the runtime and the request, called under the runtime's lock. It gives the answer, or a promise
of it, or raises `Refusal`.
"""
