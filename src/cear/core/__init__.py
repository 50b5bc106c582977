"""The floor that every room stands on: errors, types, files, tensors, settings, progress, threads."""
