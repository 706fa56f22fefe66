import sys

from kodec.cli.main import main

sys.exit(main())
