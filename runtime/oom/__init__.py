"""Processes that the kernel has killed for want of memory: how it says so, and who hears it."""

from runtime.oom.capability import OomKill, OomLog
