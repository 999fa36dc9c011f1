"""Allow list of the calls of Spark Connect 4.1.4. Every other call is refused."""

from dataclasses import dataclass
from typing import Any, Final

from headgate.spark.gateway.protos import base

SERVICE: Final = "/spark.connect.SparkConnectService/"


@dataclass(frozen=True, slots=True)
class Rpc:
    """One call: its request type, whether either side is a stream, and whether it may open a session."""

    name: str
    request: type[Any]
    streams_in: bool = False
    streams_out: bool = False
    opens: bool = True

    @property
    def path(self) -> str:
        """Return the call's full name on the wire."""
        return SERVICE + self.name


EXECUTE_PLAN: Final = Rpc("ExecutePlan", base.ExecutePlanRequest, streams_out=True)
ANALYZE_PLAN: Final = Rpc("AnalyzePlan", base.AnalyzePlanRequest)
CONFIG_RPC: Final = Rpc("Config", base.ConfigRequest)
ADD_ARTIFACTS: Final = Rpc("AddArtifacts", base.AddArtifactsRequest, streams_in=True)
ARTIFACT_STATUS: Final = Rpc("ArtifactStatus", base.ArtifactStatusesRequest)
INTERRUPT: Final = Rpc("Interrupt", base.InterruptRequest)
REATTACH_EXECUTE: Final = Rpc("ReattachExecute", base.ReattachExecuteRequest, streams_out=True, opens=False)
RELEASE_EXECUTE: Final = Rpc("ReleaseExecute", base.ReleaseExecuteRequest, opens=False)
RELEASE_SESSION: Final = Rpc("ReleaseSession", base.ReleaseSessionRequest, opens=False)
FETCH_ERROR_DETAILS: Final = Rpc("FetchErrorDetails", base.FetchErrorDetailsRequest, opens=False)
CLONE_SESSION: Final = Rpc("CloneSession", base.CloneSessionRequest)

RPCS: Final = {
    rpc.path: rpc
    for rpc in (
        EXECUTE_PLAN,
        ANALYZE_PLAN,
        CONFIG_RPC,
        ADD_ARTIFACTS,
        ARTIFACT_STATUS,
        INTERRUPT,
        REATTACH_EXECUTE,
        RELEASE_EXECUTE,
        RELEASE_SESSION,
        FETCH_ERROR_DETAILS,
        CLONE_SESSION,
    )
}
