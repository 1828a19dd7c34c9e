"""What of the node is given to which pod: admission, cgroups, user namespaces.

Open `manager.py` first: `ResourceManagerActor` takes pods or rejects them. `admission.py` asks the checks in their
order; `predicates.py`, `abilities.py` and `preemption.py` are the checks. `cgroups/` owns the cgroups, and
`user_namespaces.py` the ids of pods with users of their own.
"""
