"""A revocation that takes effect at once: in an open session, on a DataFrame that was read before."""

import time

from headgate.cli.demo.people import Person
from headgate.cli.output import say
from headgate.control.text.error_text import REFUSED_STATE, visible_words

TABLE = "lake.trusted.delays_by_carrier"


def revoke_in_a_live_session(people: list[Person]) -> bool:
    """Revoke a role while a session is open, and print the effect; return whether the next read was refused."""
    from pyspark.errors import PySparkException

    owner = people[0]
    viewer = next(each for each in people if each.part.what == "viewer")
    frame = viewer.spark.table(TABLE)
    say(f"\na revocation in a live session\n  {viewer.name} reads {TABLE}: {frame.count()} rows")
    owner.call("DELETE", "/assignments", subject=viewer.name, role="viewer", resource="lake.trusted")
    revoked = time.monotonic()
    say(f"  {owner.name} revokes viewer on lake.trusted from {viewer.name}")
    try:
        frame.count()
    except PySparkException as error:
        say(f"  {viewer.name} reads the same DataFrame again, {(time.monotonic() - revoked) * 1000:.0f} ms later:")
        say(f"      {' '.join(visible_words(error).split())}")
        refused = error.getSqlState() == REFUSED_STATE
    else:
        say(f"  {viewer.name} can still read {TABLE}: the revocation did not take effect")
        refused = False
    owner.call("POST", "/assignments", {"subject": viewer.name, "role": "viewer", "resource": "lake.trusted"})
    say(f"  {owner.name} assigns viewer again: {viewer.name} reads {frame.count()} rows")
    return refused
