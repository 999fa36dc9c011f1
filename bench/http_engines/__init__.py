"""What `bench/http` compares: servers of the same organization, and a client that keeps them busy."""
