"""Every mount and every pod directory on disk: `VolumeReconcilerActor` alone touches them.

Open `reconciler.py` first, then `plan.py`: what to do next, from `desired.py` and `actual.py`. `state.py` is the state
table of one thing on disk, `payloads.py` what configMap and projected volumes contain. `claims/` resolves persistent
volume claims, `plugins/` knows the storage drivers.
"""
