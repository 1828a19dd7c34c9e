"""Gives pods their share of the node: admission, cgroups, user namespaces.

Open `manager.py` first: `ResourceManagerActor` takes pods or rejects them. `admission.py` makes the checks in their
order; `predicates.py`, `abilities.py` and `preemption.py` are the checks. Its parts are `book_keeper.py`, which keeps
the book on the disk, and `resize/resizes.py`. `cgroups/` owns the cgroups, and `user_namespaces.py` the ids of pods
with user namespaces. `shares/` decides on CPUs and memory for single pods, near to each other; `topology/`, `cpus/` and
`memory/` are its parts.
"""
