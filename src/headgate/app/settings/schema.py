"""Every setting, under the headings of their page."""

from headgate.app.settings.variable import CONFIG_VARIABLE, SettingSpec

_STORE = (
    SettingSpec(
        CONFIG_VARIABLE,
        "path",
        "",
        "a TOML file with settings by their keys; the environment comes before it",
        "none is read",
    ),
    SettingSpec(
        "HEADGATE_DATA",
        "path",
        "folder",
        "the data folder: the store, the tables' files, keys, logs and the first owner's token. One process serves from it",
        "`.headgate` here; for the demo `.headgate-demo`",
        option="--data",
    ),
    SettingSpec(
        "HEADGATE_STORE",
        "postgresql",
        "store_url",
        "a `postgresql://` URL: the store is there, and several processes can serve from it",
        "a file in the data folder",
        secret=True,
    ),
    SettingSpec(
        "HEADGATE_LOG_KEY",
        "path",
        "log_key",
        "the file of the key that seals the log; made if it is not there",
        "`keys/log.pem` in the data folder",
    ),
    SettingSpec(
        "HEADGATE_SECRETS_KEY",
        "path",
        "secrets_key",
        "the file of the key that seals the secrets of connections; made when first needed. Every process has the same one",
        "`keys/secrets.key` in the data folder",
    ),
    SettingSpec(
        "HEADGATE_WAREHOUSE",
        "bucket",
        "bucket",
        "where the tables' files lie in an S3-compatible object store: `s3://bucket/prefix`. Spark reads from the data folder "
        "only, so it goes with `HEADGATE_SPARK=0`",
        "`warehouse` in the data folder",
    ),
    SettingSpec(
        "HEADGATE_S3_ENDPOINT", "web", "s3.endpoint", "the address of an object store that is not Amazon's", "Amazon S3"
    ),
    SettingSpec("HEADGATE_S3_REGION", "text", "s3.region", "the object store's region", "as the machine says"),
    SettingSpec(
        "HEADGATE_S3_ACCESS_KEY",
        "text",
        "s3.access_key",
        "the id of the key that Headgate reads and writes the object store with; nobody else is given it",
        "as the machine says",
        secret=True,
    ),
    SettingSpec(
        "HEADGATE_S3_SECRET_KEY",
        "text",
        "s3.secret_key",
        "the secret of that key",
        "as the machine says",
        secret=True,
    ),
    SettingSpec(
        "HEADGATE_AUDIT",
        "choice",
        "audit",
        "what the audit keeps beside the log of changes: nothing more, what was denied, or every decision",
        choices=("changes", "denied", "all"),
    ),
)

_LISTENING = (
    SettingSpec(
        "HEADGATE_SPARK",
        "flag",
        "spark",
        "0 serves the control plane alone, without a Spark of its own, as a further replica on one store does",
    ),
    SettingSpec(
        "HEADGATE_BIND",
        "address",
        "bind",
        "the address that the HTTP API listens on. Another than this machine's own needs TLS, or HEADGATE_INSECURE_HTTP",
    ),
    SettingSpec(
        "HEADGATE_API_PORT",
        "port",
        "api_port",
        "the port of the HTTP API and the Iceberg REST catalog; 0 takes a free one",
        option="--api-port",
    ),
    SettingSpec(
        "HEADGATE_SPARK_PORT",
        "port",
        "gateway_port",
        "the port of Spark Connect, at the address and with the certificate of the HTTP API; 0 takes a free one",
        option="--spark-port",
    ),
    SettingSpec(
        "HEADGATE_SPARK_ORGANIZATIONS",
        "words",
        "spark_organizations",
        "the ids of the organizations beside the first one that get a Spark driver of their own, with commas; `*` means all",
        "the first one alone has Spark",
    ),
    SettingSpec(
        "HEADGATE_SPARK_STATEMENT_SECONDS", "seconds", "spark_statement_seconds", "of the longest statement", "no limit"
    ),
    SettingSpec("HEADGATE_SPARK_FREE_DISK_MIB", "count", "spark_free_disk_mib", "MiB of disk that Spark leaves free"),
    SettingSpec(
        "HEADGATE_SANDBOX",
        "choice",
        "sandbox",
        "`require`: the server does not start if the machine enforces less than the full sandbox of Spark's processes; `prefer`: it starts, and says what is not enforced",
        "`prefer` if `HEADGATE_BIND` is a loopback address, otherwise `require`",
        choices=("require", "prefer"),
    ),
    SettingSpec(
        "HEADGATE_CLUSTERS",
        "clusters",
        "clusters",
        "a TOML file with a table for each Spark cluster that pipelines may run on, and one for the `embedded` Spark",
        "the embedded Spark alone",
    ),
    SettingSpec(
        "HEADGATE_TLS_CERT",
        "path",
        "tls_cert",
        "the file of the certificate, with those above it (PEM). Read again when it changes, or on SIGHUP",
        "HTTP without TLS",
    ),
    SettingSpec(
        "HEADGATE_TLS_KEY", "path", "tls_key", "the file of the certificate's private key (PEM)", "HTTP without TLS"
    ),
    SettingSpec(
        "HEADGATE_INSECURE_HTTP",
        "flag",
        "insecure_http",
        "1 lets HEADGATE_BIND be another address without TLS, behind a load balancer that has it",
    ),
    SettingSpec(
        "HEADGATE_PROXIES",
        "networks",
        "proxies",
        "the addresses or networks of load balancers, with commas: what they say in `X-Forwarded-For` and "
        "`X-Forwarded-Proto` is believed",
        "nobody is believed",
    ),
    SettingSpec(
        "HEADGATE_ORIGINS",
        "origins",
        "origins",
        "origins whose pages may call the API from a browser, with commas: `https://app.example.com`",
        "none but its own",
    ),
    SettingSpec(
        "HEADGATE_DRAIN_SECONDS",
        "seconds",
        "drain_seconds",
        "how long a process that is told to end lets requests finish. It first says on `/readyz` that it is not ready",
    ),
)

_WORKING = (
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

_LIMITS = (
    SettingSpec(
        "HEADGATE_RATE", "rate", "limits.principal_rate", "requests per second of one principal; 0 is no limit"
    ),
    SettingSpec(
        "HEADGATE_ADDRESS_RATE",
        "rate",
        "limits.address_rate",
        "requests per second from one address, of nobody who is known; 0 is no limit",
    ),
    SettingSpec("HEADGATE_CONNECTIONS", "count", "limits.connections", "how many connections may be open at once"),
    SettingSpec(
        "HEADGATE_NETWORK_CONNECTIONS",
        "count",
        "limits.network_connections",
        "how many connections one address, or one IPv6 network of /64, may have open; proxies are not counted",
    ),
    SettingSpec("HEADGATE_BODY_BYTES", "count", "limits.body", "the largest body"),
    SettingSpec(
        "HEADGATE_JSON_DEPTH", "count", "limits.depth", "how deeply arrays and objects of a body may lie in each other"
    ),
    SettingSpec("HEADGATE_JSON_MEMBERS", "count", "limits.members", "how many members the JSON of a body has in all"),
    SettingSpec("HEADGATE_HEADERS", "count", "limits.headers", "how many headers a request may have"),
    SettingSpec(
        "HEADGATE_HEADER_BYTES", "count", "limits.header_bytes", "the largest head: all headers, with the address"
    ),
    SettingSpec(
        "HEADGATE_HEADER_SECONDS",
        "seconds",
        "limits.header_seconds",
        "within which a connection sends the head of a request",
    ),
    SettingSpec("HEADGATE_BODY_SECONDS", "seconds", "limits.body_seconds", "within which a body is sent"),
    SettingSpec("HEADGATE_REQUEST_SECONDS", "seconds", "limits.request_seconds", "within which a request is answered"),
)

_WATCHING = (
    SettingSpec(
        "HEADGATE_LOG",
        "choice",
        "log",
        "how the log is written to the standard error: lines of text, or one JSON object for each",
        choices=("text", "json"),
    ),
    SettingSpec(
        "HEADGATE_LOG_LEVEL",
        "choice",
        "log_level",
        "the least that is logged; each request is `info`, probes and evaluations are `debug`",
        choices=("debug", "info", "warning", "error"),
    ),
    SettingSpec(
        "HEADGATE_METRICS",
        "choice",
        "metrics",
        "who may read `/metrics`: this machine, who has the token, or anybody who gets there",
        choices=("loopback", "token", "open"),
    ),
    SettingSpec(
        "HEADGATE_METRICS_TOKEN", "text", "metrics_token", "the token for `/metrics`", "there is none", secret=True
    ),
)

_LOGINS = (
    SettingSpec(
        "HEADGATE_OIDC_ISSUER",
        "web",
        "provider.issuer",
        "the OpenID Connect provider that people log in at",
        "passwords of local users",
    ),
    SettingSpec(
        "HEADGATE_OIDC_CLIENT", "text", "provider.client", "Headgate's client id there", "needed with an issuer"
    ),
    SettingSpec(
        "HEADGATE_OIDC_SECRET",
        "text",
        "provider.secret",
        "its client secret",
        "a public client, with PKCE alone",
        secret=True,
    ),
    SettingSpec(
        "HEADGATE_OIDC_DOMAINS",
        "domains",
        "provider.join",
        "domains whose verified e-mail addresses make a newcomer a user, with commas",
        "only users that the deployment has already log in",
    ),
    SettingSpec(
        "HEADGATE_OIDC_SKEW_SECONDS", "seconds", "provider.skew", "how far the provider's clock may be from this one"
    ),
    SettingSpec("HEADGATE_SESSION_SECONDS", "seconds", "logins.session", "how long a login lasts"),
    SettingSpec(
        "HEADGATE_PUBLIC_URL",
        "web",
        "logins.address",
        "the URL that clients use; every absolute URL in an answer begins with it, whatever `Host` a request names. "
        "Required behind a proxy or a load balancer, and where the server has a DNS name",
        "only loopback names and addresses and the listener's own address are accepted in `Host`",
    ),
)

_SETTING_UP = (
    SettingSpec(
        "HEADGATE_CACHE",
        "path",
        "cache",
        "the folder for what can be made again: the Iceberg jar, the compiled guard, the example's data",
        "`~/.cache/headgate`",
    ),
    SettingSpec(
        "HEADGATE_JARS",
        "path",
        "jars_folder",
        "a folder that the Iceberg jar is taken from instead of the network",
        "the jar is fetched by Spark's own resolver",
        option="setup --jars",
    ),
)

_COMMAND_LINE = (
    SettingSpec(
        "HEADGATE_URL",
        "web",
        "",
        "where the command line finds a server that is not on this machine's usual port",
        "`http://127.0.0.1` with the port of `HEADGATE_API_PORT`",
    ),
    SettingSpec(
        "HEADGATE_TOKEN",
        "text",
        "",
        "as whom the command line acts",
        "the first owner's token, read from the data folder",
    ),
    SettingSpec(
        "HEADGATE_DEMO_ONCE",
        "flag",
        "",
        "if it is neither empty nor 0, the demo ends after its story",
        "it serves until Ctrl-C",
        option="--once",
    ),
)

_SQL = (
    SettingSpec("HEADGATE_SQL_ROWS", "count", "sql.rows", "how many rows the result of one statement has at most"),
    SettingSpec(
        "HEADGATE_SQL_BYTES", "count", "sql.bytes", "how large the result of one statement is at most, as Arrow"
    ),
    SettingSpec("HEADGATE_SQL_SECONDS", "seconds", "sql.seconds", "after which a statement is ended"),
    SettingSpec(
        "HEADGATE_SQL_KEPT_BYTES",
        "count",
        "sql.kept_bytes",
        "how large a result is at most whose rows are sent as JSON",
    ),
    SettingSpec(
        "HEADGATE_SQL_KEPT_SECONDS",
        "seconds",
        "sql.kept_seconds",
        "how long a statement that nobody asks for goes on, and its rows are kept",
    ),
    SettingSpec(
        "HEADGATE_SQL_AT_ONCE", "count", "sql.at_once", "how many statements of one principal are under way or kept"
    ),
)

GROUPS = {
    "The store": _STORE,
    "Listening": _LISTENING,
    "Runs of pipelines": _WORKING,
    "Limits": _LIMITS,
    "SQL over HTTP": _SQL,
    "Logs and metrics": _WATCHING,
    "Logins": _LOGINS,
    "Setting up": _SETTING_UP,
    "The command line": _COMMAND_LINE,
}
"""The settings under the headings of their page."""

VARIABLES = tuple(variable for group in GROUPS.values() for variable in group)
