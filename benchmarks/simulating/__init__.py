"""What many machines would take: measured costs, the graph of steps, and a clock.

To be read in this order: schedule, costs, workload, measuring.
"""
