"""Floor 3: who decides. One actor or one pure rule book per file; knows nothing of worlds and users."""
