"""``python evaluate.py encoder=mini evaluator=tatoeba evaluator.root=...``, or ``ckpt=RUN``; as ``xsent evaluate``."""

import sys

from xsent.cli.train import evaluate

if __name__ == "__main__":
    sys.exit(evaluate(sys.argv[1:]))
