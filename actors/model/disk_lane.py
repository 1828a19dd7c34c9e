"""The lane of short disk calls: every actor that reads or writes small files uses one of this size."""

DISK_LANE_SIZE = 3
"""Threads. The calls are short: a few threads serve thousands of pods."""
