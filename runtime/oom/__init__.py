"""Processes that the kernel killed because memory ran out: its reports, and their reader."""

from runtime.oom.capability import OomKill, OomLog
