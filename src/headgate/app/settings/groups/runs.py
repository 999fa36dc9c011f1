"""Settings: runs of pipelines."""

from headgate.app.settings.variable import SettingSpec

RUNS = (
    SettingSpec(
        "HEADGATE_WORKER",
        "flag",
        "worker",
        "0 serves without carrying out runs of pipelines: `headgate worker` does that in other processes",
    ),
    SettingSpec(
        "HEADGATE_WORKER_SLOTS",
        "count",
        "worker_slots",
        "how many runs of pipelines this process carries out at once",
    ),
    SettingSpec(
        "HEADGATE_GATEWAY",
        "web",
        "gateway",
        "where `headgate worker` finds Spark Connect: `https://host:port`, or `http://localhost:port` on the server's machine",
    ),
    SettingSpec(
        "HEADGATE_EGRESS",
        "egress",
        "egress",
        "a YAML file with the folders, hosts and ports that the connections of each organization may reach: see "
        "[connections](../howto/connections.md#what-may-be-connected)",
        "no connection reaches anything",
    ),
    SettingSpec(
        "HEADGATE_OPENLINEAGE_URL",
        "web",
        "openlineage_url",
        "where what runs read and wrote is posted as OpenLineage events, as `https://marquez:5000/api/v1/lineage`",
        "nowhere; it can be exported",
    ),
    SettingSpec(
        "HEADGATE_OPENLINEAGE_KEY",
        "text",
        "openlineage_key",
        "the API key for that address, which is sent as a bearer token",
        "there is none",
        secret=True,
    ),
)
