"""An airline's data, moved by pipelines under the rights of people: `make story` tells it."""
