"""Block devices of volumes.

`disks.py` formats, checks and mounts one with a file system. `device_maps.py` gives one to a pod as it is, and
`loop_devices.py` holds it, so that its name cannot come to stand for another disk.
"""
