"""python -m kodec"""

from kodec.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
