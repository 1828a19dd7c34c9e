"""Event loop, threads and promises for every capability of this floor.

Open `pending.py` first: it is an answer that comes later. `event_loop.py` is the one thread for asyncio.
`daemon_threads.py` is an executor that does not delay the exit. `programs.py` runs a program on the loop; with
`parent_death.py` it ends with the agent. `system_bus.py` is the machine's D-Bus. `rings.py` lets processes that
simulate collect garbage seldom.
"""
