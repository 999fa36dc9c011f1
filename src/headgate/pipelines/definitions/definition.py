"""The fields of every pipeline's definition, of any kind."""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from headgate.pipelines.definitions.cron import next_after

DefinitionName = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=r"^[^./`*\s]+$")]
TableName = Annotated[str, StringConstraints(pattern=r"^[^./`*\s]+\.[^./`*\s]+\.[^./`*\s]+$")]
"""A full name: lake, database and table."""

MAX_ENTRIES: Final = 1_000
"""The maximum number of streams, inputs, columns or parameters in one list of a definition."""

_LONGEST = 30 * 24 * 3600.0


class StrictDefinition(BaseModel):
    """A part of a definition; an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Schedule(StrictDefinition):
    """When runs start automatically: at the times of a cron expression, or after another pipeline has succeeded."""

    cron: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    timezone: str = Field(default="UTC", description="the IANA time zone of the expression")
    after: DefinitionName | None = Field(
        default=None, description="another pipeline; each of its runs that succeeds starts a run of this one"
    )

    @model_validator(mode="after")
    def _comes_round(self) -> "Schedule":
        if self.cron is None and self.after is None:
            raise ValueError("the schedule has neither `cron` nor `after`; set one of them")
        if self.cron is not None and self.after is not None:
            raise ValueError("the schedule has both `cron` and `after`; remove one of them")
        if self.cron is not None and next_after(self.cron, self.timezone, 0.0) is None:
            raise ValueError(f"the cron expression `{self.cron}` matches no date; correct its day or month")
        return self


class Retries(StrictDefinition):
    """How often a failed run is retried, with exponential backoff: each wait is twice as long as the one before."""

    at_most: int = Field(default=0, ge=0, le=20)
    wait: float = Field(default=10.0, gt=0, le=3600, description="seconds before the second attempt")


class PipelineDefinition(StrictDefinition):
    """The fields of a definition of any kind."""

    name: DefinitionName
    schedule: Schedule | None = None
    retries: Retries = Retries()
    timeout: float | None = Field(
        default=None, gt=0, le=_LONGEST, description="seconds after which an attempt is stopped"
    )
    at_once: int = Field(default=1, ge=1, le=100, description="how many runs of the pipeline may be under way at once")
    cluster: DefinitionName | None = Field(
        default=None, description="the cluster on which it runs; by default the embedded Spark"
    )
    run_as: DefinitionName | None = Field(
        default=None,
        description="a service principal whose privileges the runs use; by default the user who saved the pipeline last",
    )


def split_name(name: str) -> tuple[str, ...]:
    """Return the parts of a full name."""
    return tuple(name.split("."))
