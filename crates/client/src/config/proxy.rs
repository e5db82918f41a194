use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;

use super::load::Environment;
use super::{Config, ConfigError};

/// How to find out about a proxy.
#[derive(Clone, Debug, Default)]
pub(super) enum ProxyChoice {
    /// From the variables that most programs follow.
    #[default]
    Environment,
    Direct,
    Url(ProxyUrl),
}

/// Where a proxy is. User and password in it are not printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ProxyUrl {
    url: Uri,
    text: String,
}

impl ProxyUrl {
    pub(super) fn parse(text: &str, origin: &str) -> Result<Self, ConfigError> {
        let invalid =
            |reason: &str| ConfigError::invalid(origin, format!("the URL of the proxy {reason}"));
        let url: Uri = text.trim().parse().map_err(|_| invalid("is malformed"))?;
        match url.scheme_str() {
            Some("http" | "https" | "socks5" | "socks5h") => {}
            _ => return Err(invalid("is none of http, https, socks5 and socks5h")),
        }
        if url.host().is_none_or(str::is_empty) {
            return Err(invalid("names no host"));
        }
        Ok(Self {
            url,
            text: text.trim().to_owned(),
        })
    }

    /// The URL as it was written, with user and password.
    pub(crate) fn expose(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_socks(&self) -> bool {
        self.url
            .scheme_str()
            .is_some_and(|scheme| scheme.starts_with("socks"))
    }
}

impl ProxyChoice {
    pub(super) fn url(&self) -> Option<&ProxyUrl> {
        match self {
            Self::Url(url) => Some(url),
            Self::Environment | Self::Direct => None,
        }
    }
}

/// The proxy on the way to the server.
///
/// One that the configuration names is used for every server. From the environment count
/// `HTTPS_PROXY` or, for a plain server, `HTTP_PROXY`, and `NO_PROXY`; all of them also in
/// small letters. The environment never puts a proxy before a server on this host.
pub(super) fn choose(config: &Config, env: &Environment) -> Result<Option<ProxyUrl>, ConfigError> {
    match &config.proxy {
        ProxyChoice::Direct => return Ok(None),
        ProxyChoice::Url(url) => return Ok(Some(url.clone())),
        ProxyChoice::Environment => {}
    }
    let server = config.server();
    let name = match server.scheme_str() {
        Some("https") => "HTTPS_PROXY",
        _ => "HTTP_PROXY",
    };
    let text = |name: &str| {
        let value = env.get(name).or_else(|| env.get(&name.to_lowercase()));
        value.and_then(|value| value.into_string().ok())
    };
    let Some(url) = text(name) else {
        return Ok(None);
    };
    if is_this_host(server.host().unwrap_or_default()) {
        return Ok(None);
    }
    let with_scheme = match url.contains("://") {
        true => url,
        false => format!("http://{url}"),
    };
    let proxy = ProxyUrl::parse(&with_scheme, &format!("the variable {name}"))?;
    // The proxy is there for the sake of the exceptions only: whether the matcher names one.
    let exceptions = Matcher::builder()
        .all("http://proxy")
        .no(text("NO_PROXY").unwrap_or_default())
        .build();
    Ok(exceptions.intercept(server).map(|_| proxy))
}

fn is_this_host(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// `scheme://host:port`, without user and password.
impl std::fmt::Display for ProxyUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = self.url.scheme_str().unwrap_or_default();
        let host = self.url.host().unwrap_or_default();
        write!(f, "{scheme}://{host}")?;
        match self.url.port_u16() {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

impl std::fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn chosen(server: &str, variables: &[(&'static str, &str)]) -> Option<String> {
        let variables: Vec<(&str, OsString)> = variables
            .iter()
            .map(|(name, value)| (*name, value.into()))
            .collect();
        let get = move |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| value.clone())
        };
        let env = Environment::new(get, "/nonexistent");
        let config = Config::new(server).unwrap();
        choose(&config, &env)
            .unwrap()
            .map(|proxy| proxy.to_string())
    }

    #[test]
    fn the_environment_names_a_proxy() {
        let both = [("HTTPS_PROXY", "http://s:1"), ("HTTP_PROXY", "http://p:2")];
        assert_eq!(chosen("https://h", &both).as_deref(), Some("http://s:1"));
        assert_eq!(chosen("http://h", &both).as_deref(), Some("http://p:2"));
        let small = [("https_proxy", "u:p@s:1")];
        assert_eq!(chosen("https://h", &small).as_deref(), Some("http://s:1"));
        assert_eq!(chosen("https://h", &[("ALL_PROXY", "http://s:1")]), None);
        for local in [
            "https://localhost:1",
            "https://127.0.0.2",
            "https://[::1]:6443",
        ] {
            assert_eq!(chosen(local, &both), None, "{local}");
        }
    }

    #[test]
    fn no_proxy_names_exceptions() {
        let with = |server: &str, exceptions: &str| {
            let variables = [("HTTPS_PROXY", "http://s:1"), ("NO_PROXY", exceptions)];
            chosen(server, &variables).is_none()
        };
        assert!(with("https://10.1.2.3:6443", "10.0.0.0/8"));
        assert!(with("https://api.corp.example:6443", ".corp.example, x"));
        assert!(with("https://corp.example", "corp.example"));
        assert!(with("https://anything", "*"));
        assert!(!with("https://mycorp.example", "corp.example"));
        assert!(!with("https://11.1.2.3", "10.0.0.0/8"));
    }

    #[test]
    fn the_configuration_has_the_last_word() {
        let env = Environment::new(
            |name| (name != "POD_NAMESPACE").then(|| OsString::from("http://env:1")),
            "/nonexistent",
        );
        let config = || Config::new("https://h").unwrap();
        let direct = config().no_proxy();
        assert_eq!(choose(&direct, &env).unwrap(), None);
        let named = config().proxy("socks5://own:1").unwrap();
        let proxy = choose(&named, &env).unwrap().unwrap();
        assert_eq!(proxy.to_string(), "socks5://own:1");
        let error = config().proxy("http://u:hunter2@ h").unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}
