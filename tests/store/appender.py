"""A process that appends groups of two entries without end and prints the newest revision; tests kill it."""

import sys

from headgate.store import open_stores
from tests.store.samples import ROOT, created


def main(where: str) -> None:
    stores = open_stores(where)
    store = stores.log(ROOT)
    head = store.head()
    while True:
        head = store.append(head, created(head.revision + 1), created(head.revision + 2))
        sys.stdout.write(f"{head.revision}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
