"""Single checks: each looks at a knowledge base and yields what it found."""
