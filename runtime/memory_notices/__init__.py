"""Being woken by the kernel when memory runs short, instead of looking now and then (spec 7.8)."""

from runtime.memory_notices.capability import MemoryMark, MemoryNotices, MemoryWatch
