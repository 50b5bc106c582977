"""What is served under which address: one file a group, each a function from a desk to a router."""
