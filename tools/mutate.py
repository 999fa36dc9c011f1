"""Mutation testing of the decision and the model: prints the mutants that no test kills.

`MUTATE` is the number of mutants of each module, or `all`. The sample is the same for the same source.
"""

# Only `make mutate` installs mutmut.
# pyright: reportMissingImports=false

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

from mutmut.__main__ import get_mutant_name
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.file_mutation import mutate_file_contents
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import walk_mutatable_files

MUTMUT = [sys.executable, "-m", "mutmut"]
NOTICED = {"killed", "timeout", "segfault"}
SEED = 4


def main() -> int:
    """Run the sample that `MUTATE` names, and print the results."""
    size = os.environ.get("MUTATE", "3")
    files = sorted(walk_mutatable_files())
    names = [] if size == "all" else [name for file in files for name in sampled(file, int(size))]
    ended = subprocess.run([*MUTMUT, "run", "--max-children", "1", *names], check=False)
    if ended.returncode:
        return ended.returncode
    report({file: outcomes(file, set(names)) for file in files})
    return 0


def sampled(file: Path, size: int) -> list[str]:
    """Return the names of at most `size` mutants of a module, the same ones each time."""
    mutants = [get_mutant_name(file, name) for name in mutate_file_contents(str(file), file.read_text()).mutant_names]
    return random.Random(SEED).sample(mutants, min(size, len(mutants)))  # noqa: S311 - a sample, not a secret


def outcomes(file: Path, names: set[str]) -> dict[str, str]:
    """Return the status of each mutant of a module in `names`, or of all if `names` is empty."""
    data = SourceFileMutationData(path=file)
    data.load()
    return {
        name: status_by_exit_code[code] for name, code in data.exit_code_by_key.items() if not names or name in names
    }


def report(tried: dict[Path, dict[str, str]]) -> None:
    """Print each surviving mutant as a diff, then the score of each module and of all."""
    for ended in tried.values():
        for name in (name for name, status in ended.items() if status not in NOTICED):
            print(f"\n{name}: {ended[name]}", flush=True)
            subprocess.run([*MUTMUT, "show", name], check=True)
    print()
    for file, ended in tried.items():
        print(f"{_score(ended)}  {file}")
    print(f"{_score({name: status for ended in tried.values() for name, status in ended.items()})}  in all")


def _score(ended: dict[str, str]) -> str:
    """Return the number of killed mutants, and of all mutants."""
    noticed = sum(count for status, count in Counter(ended.values()).items() if status in NOTICED)
    return f"{noticed:5} of {len(ended):5}"


if __name__ == "__main__":
    sys.exit(main())
