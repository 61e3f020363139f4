"""Controllers as pure generators of effects."""
