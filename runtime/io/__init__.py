"""Event loop, threads and promises that every capability of this floor uses.

Open `pending.py` first: it is the answer that is not here yet. `event_loop.py` is the one thread for asyncio,
`daemon_threads.py` an executor that holds no exit up, `system_bus.py` the machine's D-Bus.
"""
