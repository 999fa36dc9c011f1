"""Settings: the store, the data folder and the warehouse."""

from headgate.app.settings.variable import CONFIG_VARIABLE, SettingSpec

STORE = (
    SettingSpec(
        CONFIG_VARIABLE,
        "path",
        "",
        "a TOML file with settings by their keys; a variable of the environment overrides its key",
        "no file is read",
    ),
    SettingSpec(
        "HEADGATE_DATA",
        "path",
        "folder",
        "the data folder: the store, the tables' files, keys, logs and the first owner's token. Only one process can serve from it",
        "`.headgate` in the working folder; for the demo `.headgate-demo`",
        option="--data",
    ),
    SettingSpec(
        "HEADGATE_STORE",
        "postgresql",
        "store_url",
        "the `postgresql://` URL of the store; several processes can serve from it",
        "a file in the data folder",
        secret=True,
    ),
    SettingSpec(
        "HEADGATE_LOG_KEY",
        "path",
        "log_key",
        "the file of the key that seals the log; created if it does not exist",
        "`keys/log.pem` in the data folder",
    ),
    SettingSpec(
        "HEADGATE_SECRETS_KEY",
        "path",
        "secrets_key",
        "the file of the key that encrypts the secrets of connections; created at its first use. All processes need the same file",
        "`keys/secrets.key` in the data folder",
    ),
    SettingSpec(
        "HEADGATE_MODEL",
        "text",
        "model",
        "the installed access model of the first organization, and of each that is created without naming one",
    ),
    SettingSpec(
        "HEADGATE_MODELS",
        "path",
        "models",
        "a folder with access models: every file `*.yaml` in it is installed when the server starts",
        "no folder is read; `headgate model install` installs a file",
    ),
    SettingSpec(
        "HEADGATE_WAREHOUSE",
        "bucket",
        "bucket",
        "the place of the tables' files in an S3-compatible object store: `s3://bucket/prefix`. It requires `HEADGATE_SPARK=0`, "
        "because Spark reads only from the data folder",
        "`warehouse` in the data folder",
    ),
    SettingSpec(
        "HEADGATE_S3_ENDPOINT", "web", "s3.endpoint", "the URL of an object store other than Amazon S3", "Amazon S3"
    ),
    SettingSpec(
        "HEADGATE_S3_REGION",
        "text",
        "s3.region",
        "the region of the object store",
        "the AWS configuration of the machine",
    ),
    SettingSpec(
        "HEADGATE_S3_ACCESS_KEY",
        "text",
        "s3.access_key",
        "the id of the access key with which Headgate reads and writes the object store; it is not given to clients",
        "the AWS configuration of the machine",
        secret=True,
    ),
    SettingSpec(
        "HEADGATE_S3_SECRET_KEY",
        "text",
        "s3.secret_key",
        "the secret of the access key",
        "the AWS configuration of the machine",
        secret=True,
    ),
    SettingSpec(
        "HEADGATE_AUDIT",
        "choice",
        "audit",
        "what the audit records besides the log of changes: nothing more, denials, or every decision",
        choices=("changes", "denied", "all"),
    ),
)
