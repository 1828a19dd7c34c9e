"""What is special about a kind, in one class with a method for each place of the pipeline.

Open `strategy.py` first; it has what most kinds do. `described` is for kinds with a schema, `pods` the richest kind.
`metadata` and `ownership` have the rules of every object's metadata.
"""
