"""Settings: logins, and the provider of a federated login."""

from headgate.app.settings.variable import SettingSpec

LOGINS = (
    SettingSpec(
        "HEADGATE_OIDC_ISSUER",
        "web",
        "provider.issuer",
        "the OpenID Connect provider that people log in at",
        "passwords of local users",
    ),
    SettingSpec(
        "HEADGATE_OIDC_CLIENT", "text", "provider.client", "Headgate's client id there", "needed with an issuer"
    ),
    SettingSpec(
        "HEADGATE_OIDC_SECRET",
        "text",
        "provider.secret",
        "its client secret",
        "a public client, with PKCE alone",
        secret=True,
    ),
    SettingSpec(
        "HEADGATE_OIDC_DOMAINS",
        "domains",
        "provider.join",
        "domains whose verified e-mail addresses make a newcomer a user, with commas",
        "only users that the deployment has already log in",
    ),
    SettingSpec(
        "HEADGATE_OIDC_SKEW_SECONDS", "seconds", "provider.skew", "how far the provider's clock may be from this one"
    ),
    SettingSpec("HEADGATE_SESSION_SECONDS", "seconds", "logins.session", "how long a login lasts"),
    SettingSpec(
        "HEADGATE_PUBLIC_URL",
        "web",
        "logins.address",
        "the URL that clients use; every absolute URL in an answer begins with it, whatever `Host` a request names. "
        "Required behind a proxy or a load balancer, and where the server has a DNS name",
        "only loopback names and addresses and the listener's own address are accepted in `Host`",
    ),
)
