"""Train: ``python train.py recipe=oracle encoder=labse``, the same as ``xsent train``; options in ``conf/``."""

import sys

from xsent.cli.train import train

if __name__ == "__main__":
    sys.exit(train(sys.argv[1:]))
