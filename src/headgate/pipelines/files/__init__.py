"""Files in the folders of connections: copied and read within limits, without following links out of the folder."""
