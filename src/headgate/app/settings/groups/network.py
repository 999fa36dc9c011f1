"""Settings: Spark and the addresses, ports, TLS and processes that clients reach."""

from headgate.app.settings.variable import SettingSpec

NETWORK = (
    SettingSpec(
        "HEADGATE_SPARK",
        "flag",
        "spark",
        "0 serves the control plane without Spark, for example as a further replica on one store",
    ),
    SettingSpec(
        "HEADGATE_BIND",
        "address",
        "bind",
        "the address on which the server listens. An address that other machines can reach needs TLS, or HEADGATE_INSECURE_HTTP",
    ),
    SettingSpec(
        "HEADGATE_API_PORT",
        "port",
        "api_port",
        "the port of the HTTP API and the Iceberg REST catalog; 0 chooses a free one",
        option="--api-port",
    ),
    SettingSpec(
        "HEADGATE_SPARK_PORT",
        "port",
        "gateway_port",
        "the port of Spark Connect, at the address and with the certificate of the HTTP API; 0 chooses a free one",
        option="--spark-port",
    ),
    SettingSpec(
        "HEADGATE_SPARK_ORGANIZATIONS",
        "words",
        "spark_organizations",
        "the ids of the organizations, besides the first one, that get a Spark driver of their own, separated by commas; `*` means all",
        "only the first organization has Spark",
    ),
    SettingSpec(
        "HEADGATE_SPARK_STATEMENT_SECONDS",
        "seconds",
        "spark_statement_seconds",
        "the longest run time of a statement on Spark, in seconds",
        "no limit",
    ),
    SettingSpec(
        "HEADGATE_SPARK_FREE_DISK_MIB", "count", "spark_free_disk_mib", "the disk space that Spark leaves free, in MiB"
    ),
    SettingSpec(
        "HEADGATE_SANDBOX",
        "choice",
        "sandbox",
        "`require`: the server does not start if the machine enforces less than the full sandbox of Spark's processes; `prefer`: it starts, and reports what is not enforced",
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
        "the file of the certificate and its chain (PEM). It is reloaded when it changes, and on SIGHUP",
        "HTTP without TLS",
    ),
    SettingSpec(
        "HEADGATE_TLS_KEY", "path", "tls_key", "the file of the certificate's private key (PEM)", "HTTP without TLS"
    ),
    SettingSpec(
        "HEADGATE_INSECURE_HTTP",
        "flag",
        "insecure_http",
        "1 permits any address in HEADGATE_BIND without TLS, for a server behind a load balancer that has TLS",
    ),
    SettingSpec(
        "HEADGATE_PROXIES",
        "networks",
        "proxies",
        "the addresses or networks of load balancers, separated by commas, whose `X-Forwarded-For` and "
        "`X-Forwarded-Proto` headers are believed",
        "no such header is believed",
    ),
    SettingSpec(
        "HEADGATE_ORIGINS",
        "origins",
        "origins",
        "origins whose pages may call the API from a browser (CORS), separated by commas, such as `https://app.example.com`",
        "only the server's own origin",
    ),
    SettingSpec(
        "HEADGATE_DRAIN_SECONDS",
        "seconds",
        "drain_seconds",
        "how long a process that is stopping lets requests finish, in seconds. `/readyz` answers at once that it is not ready",
    ),
)
