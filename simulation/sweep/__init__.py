"""What to try in a sweep of an operator, and what a run with a fault proves. Pure.

`plan` chooses the faults from a run without one. `state` makes the objects of two runs comparable, `compare` finds what
differs, `judge` says whether a run broke something, and `findings` puts together what is the same.
"""
