"""Open knowledge bases out of thin air: as large as OLPBENCH, in its layout, and with something to learn in them.

To be read in this order: world, facts, files.
"""
