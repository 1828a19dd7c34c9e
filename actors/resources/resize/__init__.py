"""Whether pods that ask for other resources get them, and in which order (spec 10.16).

Open `verdicts.py` first: one resize at one moment. `infeasible.py` has the reasons that no waiting mends, `order.py`
the order in which pending resizes are tried, and `pending.py` keeps them. `changes.py` is what the metric counts. All
of these are pure; `resizes.py` is the part of `ResourceManagerActor` that acts.
"""
