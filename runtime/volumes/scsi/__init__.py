"""Disks that the node's own tools reach: iscsi and fc (spec 8.2).

`shared_disk.py` has what both have in common.

`iscsi.py` and `fc.py` are the plugins. `iscsi_target.py` and `fc_disk.py` are pure: what a volume says and its names.
`attaching.py` is what the cluster is told. `iscsi_sessions.py` runs iscsiadm. `scsi_disks.py` is the kernel's view.
"""
