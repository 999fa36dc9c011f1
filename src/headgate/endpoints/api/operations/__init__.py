"""Operations over the API: audit, notifications, status, and the deployment."""
