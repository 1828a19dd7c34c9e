"""The network calls of hooks: one GET at the start or the end of a container (spec 3.11)."""

from runtime.hooks.capability import HookAnswer, HookCaller
