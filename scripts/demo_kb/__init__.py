"""How the demo knowledge base is built; `scripts/build_demo_kb.py` is the command."""
