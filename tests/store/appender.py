"""A process that appends for ever and prints each revision that it was given. It is made to be killed."""

import sys
from pathlib import Path

from headgate.store import open_stores
from tests.store.samples import ROOT, created


def main(folder: Path) -> None:
    stores = open_stores(folder)
    store = stores.log(ROOT)
    head = store.head()
    while True:
        head = store.append(head, created(head + 1))
        sys.stdout.write(f"{head}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
