"""Every mount and every pod directory on disk: only `VolumeReconcilerActor` touches them.

Open `reconciler.py` first. `plan.py` decides what to do next, from `desired.py` and `actual.py`. `state.py` is the
state table of one thing on disk. `wishes/` knows what one pod wants and builds the files of configMap and projected
volumes. `claims/` resolves persistent volume claims, `plugins/` knows the storage drivers.
"""
