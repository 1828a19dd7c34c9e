"""The engine of table-driven state machines.

It imports nothing else of `actors`; even the kernel may use it.

A machine is a table of rules in a file of its own: `actors.pod_rules.lifecycle`, `actors.pod_rules.container_start`,
`actors.probes.state`, `actors.volumes.state` and `actors.kernel.lifecycle`. Open `table.py` first.
"""
