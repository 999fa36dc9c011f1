"""10,000 revokes at one of two replicas over PostgreSQL: the next check at the other replica obeys each revoke."""

from pathlib import Path
from typing import Final

import pytest

from tests.survival.test_replicas import prepared, raced

PIECES: Final = 2
REVOKES: Final = 5_000


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("piece", range(PIECES))
def test_the_next_check_at_the_other_replica_obeys_each_of_five_thousand_revokes(
    tmp_path: Path, postgres_url: str, piece: int
) -> None:
    # Each writer alternates between assigning and revoking, and may end with either.
    operations = 2 * REVOKES + 100

    assert raced("processes", prepared(tmp_path, postgres_url), operations, seed=piece, others=False) >= REVOKES
