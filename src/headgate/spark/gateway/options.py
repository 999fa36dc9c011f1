"""The options that users may give to reads and writes, in lower case. None of them names a place or another table."""

from typing import Final

TABLE_READ: Final[frozenset[str]] = frozenset()
"""None yet: snapshot and branch selectors, time travel and `path` all come this way."""

FILE_READ: Final = frozenset(
    {
        "allowbackslashescapinganycharacter",
        "allowcomments",
        "allownonnumericnumbers",
        "allownumericleadingzeros",
        "allowsinglequotes",
        "allowunquotedcontrolchars",
        "allowunquotedfieldnames",
        "charset",
        "chartoescapequoteescaping",
        "columnnameofcorruptrecord",
        "comment",
        "dateformat",
        "datetimerebasemode",
        "delimiter",
        "dropfieldifallnull",
        "emptyvalue",
        "encoding",
        "enforceschema",
        "escape",
        "header",
        "ignoreleadingwhitespace",
        "ignoretrailingwhitespace",
        "inferschema",
        "int96rebasemode",
        "linesep",
        "locale",
        "maxcharspercolumn",
        "maxcolumns",
        "mergeschema",
        "mode",
        "multiline",
        "nanvalue",
        "negativeinf",
        "nullvalue",
        "positiveinf",
        "prefersdecimal",
        "preferdate",
        "primitivesasstring",
        "quote",
        "samplingratio",
        "sep",
        "timestampformat",
        "timestampntzformat",
        "timezone",
        "unescapedquotehandling",
    }
)
"""How CSV, JSON and Parquet files are parsed."""

TABLE_WRITE: Final = frozenset(
    {
        "compression-codec",
        "compression-level",
        "distribution-mode",
        "fanout-enabled",
        "target-file-size-bytes",
    }
)
"""How Iceberg lays out the files it writes. Not `branch`, `overwrite-mode`, `merge-schema` or snapshot properties."""

TABLE_PROPERTIES: Final = frozenset(
    {
        "comment",
        "write.distribution-mode",
        "write.parquet.compression-codec",
        "write.parquet.compression-level",
        "write.parquet.row-group-size-bytes",
        "write.target-file-size-bytes",
    }
)
"""How Iceberg writes from now on. Nothing that names a location, a snapshot or a class."""
