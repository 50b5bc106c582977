"""A Stage 1 that reads: queries and entities as vectors of their texts."""
