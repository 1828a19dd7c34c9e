"""Event loop, threads and promises for every capability of this floor.

Open `pending.py` first: it is an answer that comes later. `event_loop.py` is the one thread for asyncio,
`daemon_threads.py` an executor that does not delay the exit, `programs.py` a program that the loop runs (with
`parent_death.py` it ends with the agent), `system_bus.py` the machine's D-Bus.
"""
