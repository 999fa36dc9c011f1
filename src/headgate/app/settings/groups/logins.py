"""Settings: logins, and the provider of a federated login."""

from headgate.app.settings.variable import SettingSpec

LOGINS = (
    SettingSpec(
        "HEADGATE_OIDC_ISSUER",
        "web",
        "provider.issuer",
        "the URL of the OpenID Connect provider at which users log in",
        "users log in with local passwords",
    ),
    SettingSpec(
        "HEADGATE_OIDC_CLIENT",
        "text",
        "provider.client",
        "Headgate's client id at the provider",
        "required with an issuer",
    ),
    SettingSpec(
        "HEADGATE_OIDC_SECRET",
        "text",
        "provider.secret",
        "Headgate's client secret at the provider",
        "a public client, with PKCE alone",
        secret=True,
    ),
    SettingSpec(
        "HEADGATE_OIDC_DOMAINS",
        "domains",
        "provider.join",
        "domains, separated by commas: a login with a verified e-mail address of such a domain creates a user",
        "only existing users of the deployment can log in",
    ),
    SettingSpec(
        "HEADGATE_OIDC_SKEW_SECONDS",
        "seconds",
        "provider.skew",
        "the largest difference between the provider's clock and this machine's, in seconds",
    ),
    SettingSpec("HEADGATE_SESSION_SECONDS", "seconds", "logins.session", "the lifetime of a login session, in seconds"),
    SettingSpec(
        "HEADGATE_PUBLIC_URL",
        "web",
        "logins.address",
        "the URL that clients use; every absolute URL in a response begins with it, whatever the `Host` of the request. "
        "Required behind a proxy or a load balancer, and where the server has a DNS name",
        "only loopback names and addresses and the listener's own address are accepted in `Host`",
    ),
)
