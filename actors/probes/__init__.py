"""Probes: whether containers are well, alive and started (spec 5).

Open `state.py` first: it is the state table of one probe. `runner.py` asks the containers of one pod, each probe at
its time. `rules.py` is the arithmetic: when a probe is due, which answer counts.
"""
