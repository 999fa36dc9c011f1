"""Reads the file of `HEADGATE_CLUSTERS`: a TOML table for each cluster, by its name."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError, model_validator

from headgate.app.settings.variable import VALUE
from headgate.control.pipelines.cluster_names import EMBEDDED
from headgate.control.text.validation_faults import first_fault
from headgate.spark.driver.clusters import LOOPBACK, Cluster, Clusters

_CONF = (
    "spark.blockManager.",
    "spark.cores.max",
    "spark.driver.blockManager.port",
    "spark.driver.maxResultSize",
    "spark.driver.port",
    "spark.dynamicAllocation.",
    "spark.eventLog.",
    "spark.excludeOnFailure.",
    "spark.executor.",
    "spark.hadoop.fs.",
    "spark.kubernetes.",
    "spark.memory.",
    "spark.network.timeout",
    "spark.port.maxRetries",
    "spark.rpc.",
    "spark.shuffle.",
    "spark.speculation",
    "spark.sql.adaptive.",
    "spark.sql.shuffle.partitions",
    "spark.task.",
    "spark.yarn.",
)
"""Prefixes of the Spark configuration that operators may set: executors, networks, sizes; none that the guard depends on."""

_Size = Annotated[str, StringConstraints(pattern=r"^[1-9]\d*[mgMG]$")]
_Master = Annotated[
    str, StringConstraints(pattern=r"^(local(\[(\*|\d+)\])?|spark://[^\s:,/]+:\d+(,[^\s:,/]+:\d+)*|k8s://\S+|yarn)$")
]


class _Table(BaseModel):
    """The table of one cluster."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    master: _Master = "local[*]"
    memory: _Size = "1g"
    at_once: int = Field(default=4, ge=1, le=1000)
    host: str = LOOPBACK
    bind: str = ""
    secret_file: Path | None = None
    hadoop: Path | None = None
    idle_seconds: float = Field(default=900.0, gt=0)
    conf: Mapping[str, str] = Field(default_factory=dict[str, str])

    @model_validator(mode="after")
    def _fits(self) -> Self:
        foreign = [key for key in self.conf if not key.startswith(_CONF)]
        if foreign:
            raise ValueError(f"`conf` of a cluster may not contain `{foreign[0]}`; remove it")
        if self.master.startswith("spark://") and self.secret_file is None:
            raise ValueError(
                "a standalone master needs `secret_file`; set it to a file with the secret that the master shares with its "
                "workers"
            )
        if self.secret_file is not None and not self.master.startswith("spark://"):
            raise ValueError(
                "`secret_file` is for a standalone master only; remove it, since Spark creates a secret for other masters"
            )
        return self


_TABLES: TypeAdapter[Mapping[str, _Table]] = TypeAdapter(Mapping[str, _Table])


def read_clusters(file: Path) -> Clusters:
    """Return the clusters of a file, and the embedded one. Raises `ValueError` with the fault of the file."""
    try:
        tables = _tables(tomllib.loads(file.read_text(encoding="utf-8")))
        return Clusters(Cluster(EMBEDDED), *(_cluster(name, table) for name, table in tables.items()))
    except OSError as error:
        raise ValueError(
            f"{VALUE} is not a readable file ({error.strerror}); correct its path or permissions"
        ) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{VALUE} is not a TOML file ({error}); correct the file") from None


def _tables(written: Mapping[str, Any]) -> Mapping[str, _Table]:
    try:
        return _TABLES.validate_python(written)
    except ValidationError as error:
        fault = first_fault(error.errors(), written)
        raise ValueError(
            f"{VALUE} is not a valid file of clusters: `{fault.at}`: {fault.sentence}; correct the file"
        ) from None


def _cluster(name: str, table: _Table) -> Cluster:
    if (name == EMBEDDED) == (not table.master.startswith("local")):
        raise ValueError(
            f"{VALUE} is not a valid file of clusters: the cluster `{name}` has the master `{table.master}`, but "
            f"the cluster `{EMBEDDED}` must have a `local` master, and no other cluster may; correct the file"
        )
    return Cluster(name, **dict(table))
