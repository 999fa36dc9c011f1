"""Settings: runs of pipelines."""

from headgate.app.settings.variable import SettingSpec

RUNS = (
    SettingSpec(
        "HEADGATE_WORKER",
        "flag",
        "worker",
        "0 serves without executing runs of pipelines; `headgate worker` executes them in other processes",
    ),
    SettingSpec(
        "HEADGATE_WORKER_SLOTS",
        "count",
        "worker_slots",
        "the most runs of pipelines that this process executes at once",
    ),
    SettingSpec(
        "HEADGATE_GATEWAY",
        "web",
        "gateway",
        "the URL of Spark Connect for `headgate worker`: `https://host:port`, or `http://localhost:port` on the server's machine",
    ),
    SettingSpec(
        "HEADGATE_EGRESS",
        "egress",
        "egress",
        "a YAML file with the folders, hosts and ports that the connections of each organization may reach: see "
        "[connections](../howto/connections.md#what-may-be-connected)",
        "connections may reach nothing",
    ),
    SettingSpec(
        "HEADGATE_OPENLINEAGE_URL",
        "web",
        "openlineage_url",
        "the URL to which the lineage of runs is posted as OpenLineage events, for example `https://marquez:5000/api/v1/lineage`",
        "not posted; `headgate lineage export` exports it",
    ),
    SettingSpec(
        "HEADGATE_OPENLINEAGE_KEY",
        "text",
        "openlineage_key",
        "the API key for HEADGATE_OPENLINEAGE_URL, which is sent as a bearer token",
        "there is none",
        secret=True,
    ),
)
