use super::load::Environment;
use super::{Auth, Config, ConfigError, Pem};

/// The service account of the pod around us (client-go K8, K9).
pub(super) fn load(env: &Environment) -> Result<Config, ConfigError> {
    let text = |name: &str| {
        let value = env.get(name).and_then(|value| value.into_string().ok());
        value.ok_or_else(|| ConfigError::NotInCluster {
            reason: format!("{name} is not set"),
        })
    };
    let host = text("KUBERNETES_SERVICE_HOST")?;
    let port = text("KUBERNETES_SERVICE_PORT")?;
    let token = env.service_account.join("token");
    if let Err(error) = std::fs::metadata(&token) {
        return Err(ConfigError::NotInCluster {
            reason: format!("{}: {error}", token.display()),
        });
    }
    let server = if host.contains(':') {
        format!("https://[{host}]:{port}")
    } else {
        format!("https://{host}:{port}")
    };
    let mut config = Config::at(&server, true, "the pod's service account")?;
    config.auth = Auth::TokenFile {
        path: token,
        fallback: None,
    };
    let ca = env.service_account.join("ca.crt");
    if ca.exists() {
        config.tls.ca = Some(Pem::file(ca, "the pod's service account: ca.crt"));
    } else {
        tracing::warn!(path = %ca.display(), "no cluster CA; the system's roots are trusted");
    }
    config.default_namespace = namespace(env);
    Ok(config)
}

fn namespace(env: &Environment) -> String {
    let from_variable = env.get("POD_NAMESPACE").and_then(|v| v.into_string().ok());
    let from_file = || std::fs::read_to_string(env.service_account.join("namespace")).ok();
    let namespace = from_variable.or_else(from_file).unwrap_or_default();
    match namespace.trim() {
        "" => "default".into(),
        namespace => namespace.into(),
    }
}
