"""The version of actorlet. `setup.cfg` reads it here, so an agent need not look for its installation."""

VERSION = "0.1.0"
