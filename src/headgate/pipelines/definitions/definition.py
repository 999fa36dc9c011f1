"""What every pipeline's definition says, whatever its kind."""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from headgate.pipelines.definitions.cron import next_after

DefinitionName = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=r"^[^./`*\s]+$")]
TableName = Annotated[str, StringConstraints(pattern=r"^[^./`*\s]+\.[^./`*\s]+\.[^./`*\s]+$")]
"""A full name: lake, database, table."""

MAX_ENTRIES: Final = 1_000
"""How many streams, inputs, columns or parameters one list of a definition has at most."""

_LONGEST = 30 * 24 * 3600.0


class StrictDefinition(BaseModel):
    """A part of a definition; a field that it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Schedule(StrictDefinition):
    """When runs begin by themselves: at the times of a cron expression, or after another pipeline has succeeded."""

    cron: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    timezone: str = Field(default="UTC", description="an IANA time zone, in which the expression is meant")
    after: DefinitionName | None = Field(
        default=None, description="a pipeline; each run of it that succeeds begins one of this"
    )

    @model_validator(mode="after")
    def _comes_round(self) -> "Schedule":
        if (self.cron is None) == (self.after is None):
            raise ValueError("a schedule has either `cron` or `after`")
        if self.cron is not None and next_after(self.cron, self.timezone, 0.0) is None:
            raise ValueError(f"`{self.cron}` never comes round")
        return self


class Retries(StrictDefinition):
    """How often a failed attempt is made again, and how long it waits before: twice as long each time."""

    at_most: int = Field(default=0, ge=0, le=20)
    wait: float = Field(default=10.0, gt=0, le=3600, description="seconds before the second attempt")


class PipelineDefinition(StrictDefinition):
    """What every kind has."""

    name: DefinitionName
    schedule: Schedule | None = None
    retries: Retries = Retries()
    timeout: float | None = Field(default=None, gt=0, le=_LONGEST, description="seconds after which a run is ended")
    at_once: int = Field(default=1, ge=1, le=100, description="how many runs of it may be under way")
    cluster: DefinitionName | None = Field(default=None, description="where it runs; by default on the embedded Spark")
    run_as: DefinitionName | None = Field(
        default=None, description="a service principal whose rights its runs use; by default who saved it last"
    )


def split_name(name: str) -> tuple[str, ...]:
    """Return the parts of a full name."""
    return tuple(name.split("."))
