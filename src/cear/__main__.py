"""`python -m cear`: the command line."""

from cear.cli import program

if __name__ == "__main__":
    program()
