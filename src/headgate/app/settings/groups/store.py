"""Settings: the store, the data folder and the warehouse."""

from headgate.app.settings.variable import CONFIG_VARIABLE, SettingSpec

STORE = (
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
        "the file of the key that encrypts the secrets of connections; made when first needed. Every process has the same one",
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
