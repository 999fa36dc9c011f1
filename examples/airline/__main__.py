"""`python -m examples.airline`: runs the example on a fresh data folder; exits with 1 if a result was unexpected."""

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from examples.airline import nekt_chapter, onehouse_chapter
from examples.airline.outside import Outside, outside
from examples.airline.telling import Story
from examples.airline.world import Chapter, World
from headgate.app.background import run_in_background
from headgate.app.settings.settings import Settings, default_settings
from headgate.app.spark.drivers import IDLE_CHECK_SECONDS
from headgate.cli.output import say

CHAPTERS: dict[str, Chapter] = {"nekt": nekt_chapter.tell, "onehouse": onehouse_chapter.tell}


def main() -> int:
    """Run the example and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=CHAPTERS, help="one of the chapters")
    only = parser.parse_args().only
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="headgate-story-") as folder:
        story = _tell(Path(folder), [tell for name, tell in CHAPTERS.items() if only in (None, name)])
    say(f"{time.monotonic() - began:.0f} s in all")
    return story.close()


def _tell(folder: Path, chapters: list[Chapter]) -> Story:
    import os

    story = Story()
    settings = default_settings(os.environ, folder=folder / "data", api_port=0, gateway_port=0)
    with outside(settings.cache, folder) as made, run_in_background(_settled(settings, made), say) as server:
        for tell in chapters:
            tell(World(server, made, story))
    return story


def _settled(settings: Settings, made: Outside) -> Settings:
    return replace(settings, owner="ada", spark_organizations=(IDLE_CHECK_SECONDS,), egress=made.egress)


if __name__ == "__main__":
    sys.exit(main())
