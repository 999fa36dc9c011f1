"""An example: an airline's data, moved by pipelines with the privileges of several people; `make story` runs it."""
