"""``make bench``: run each benchmark in its own process."""

import subprocess
import sys

for name in ("startup", "encoding", "oracle_step", "search", "gradient_caching", "paraphrase_speed", "noise"):
    print(f"== {name}", flush=True)
    subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)
