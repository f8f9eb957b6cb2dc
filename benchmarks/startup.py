"""Start-up time of ``import xsent`` and ``python train.py --help``: whole processes, median of five."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = {
    "import xsent": ([sys.executable, "-c", "import xsent"], 0.3),
    "train.py --help": ([sys.executable, "train.py", "--help"], 1.0),
}


def main() -> None:
    """Print one line per command."""
    for name, (command, limit) in COMMANDS.items():
        durations = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
            durations.append(time.perf_counter() - start)
        print(f"{name:20} {statistics.median(durations):6.2f} s (limit {limit} s)")


if __name__ == "__main__":
    main()
