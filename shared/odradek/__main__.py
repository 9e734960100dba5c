"""`python -m odradek` is the command `odradek`."""

from odradek.cli.main import main

if __name__ == "__main__":
    main()
