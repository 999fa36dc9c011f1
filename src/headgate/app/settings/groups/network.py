"""Settings: Spark and the addresses, ports, TLS and processes that clients reach."""

from headgate.app.settings.variable import SettingSpec

NETWORK = (
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
