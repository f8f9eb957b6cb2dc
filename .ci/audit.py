"""Known vulnerabilities of the packages in constraints.txt, by pip-audit; skipped where no advisories can be had."""

import json
import subprocess
import sys
from pathlib import Path

CONSTRAINTS = Path(__file__).resolve().parent.parent / "constraints.txt"
COMMAND = [
    *(sys.executable, "-m", "pip_audit", "-r", str(CONSTRAINTS), "--no-deps", "--disable-pip"),
    *("--format", "json", "--progress-spinner", "off"),
]


def main() -> str | int:
    """0 or, for ``sys.exit``, a message with each vulnerability."""
    process = subprocess.run(COMMAND, capture_output=True, text=True)
    packages = json.loads(process.stdout)["dependencies"] if process.stdout else []
    audited = [package for package in packages if "vulns" in package]
    if not audited:
        reason = process.stderr.strip().rpartition("\n")[2] if not packages else "it knows none of the packages"
        sys.stdout.write(f"audit: skipped, no index of advisories could be reached ({reason})\n")
        return 0
    lines = [
        f"{package['name']} {package['version']}: {vulnerability['id']},"
        f" fixed in {', '.join(vulnerability['fix_versions']) or 'no version yet'}"
        for package in audited
        for vulnerability in package["vulns"]
    ]
    sys.stdout.write(f"audit: {len(audited)} of {len(packages)} packages looked up, {len(lines)} vulnerabilities\n")
    return "\n".join(lines) or 0


if __name__ == "__main__":
    sys.exit(main())
