"""One small module a layout; each reads a path into a draft."""
