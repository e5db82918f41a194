//! From the flags to a client, and a first look whether it can work at all.

use std::time::Duration;

use bytes::Bytes;
use evenkeel_client::{Client, Config, ConfigError, Error, Timeouts, TransportErrorKind};

use crate::args::Connection;
use crate::error::Failure;

/// How long the first request may take. The server may still be starting, and everything
/// behind this tries again by itself.
const FIRST_LOOK: Duration = Duration::from_secs(5);

/// The cluster that the flags name; the one around this pod if they name none.
pub(crate) fn config(connection: &Connection) -> Result<Config, Failure> {
    config_in(connection, None)
}

/// The same, with a context of the kubeconfig other than the current one.
pub(crate) fn config_in(connection: &Connection, context: Option<&str>) -> Result<Config, Failure> {
    let config = match (&connection.kubeconfig, &connection.master) {
        (Some(file), master) => {
            let config = Config::from_kubeconfig(file, context).map_err(Failure::failed)?;
            match master {
                Some(url) => config.with_server(url).map_err(named("--master"))?,
                None => config,
            }
        }
        (None, Some(url)) => Config::new(url).map_err(named("--master"))?,
        (None, None) => Config::in_cluster().map_err(|error| {
            Failure::failed(format!(
                "neither --kubeconfig nor --master is given, and {error}"
            ))
        })?,
    };
    Ok(config)
}

fn named(flag: &str) -> impl Fn(ConfigError) -> Failure {
    move |error| Failure::usage(format!("{flag}: {error}"))
}

/// A client with connections of its own.
pub(crate) fn connect(config: &Config, user_agent: &str) -> Result<Client, Failure> {
    let client = Client::connect(config).map_err(Failure::failed)?;
    let agent = format!("evenkeel/{} {user_agent}", env!("CARGO_PKG_VERSION"));
    Ok(client.with_user_agent(agent))
}

/// Finds out whether the server can be used, so that what will never work is said once and
/// ends the program: a CA that did not sign the server, a token that it does not know.
///
/// A server that is not there yet is no fault.
pub(crate) async fn first_look(client: &Client) -> Result<(), Failure> {
    let server = client.options().server.clone();
    let looking = client.with_timeouts(Timeouts::default().total(FIRST_LOOK));
    // Everybody who is known may read it, and nobody else.
    match get(&looking, "/api").await {
        Ok(_) => {
            let version = version(&looking).await;
            tracing::info!(%server, version, "Connected to the API server");
            Ok(())
        }
        Err(error) if is_hopeless(&error) => Err(Failure::failed(format!(
            "cannot use the API server {server}: {error}"
        ))),
        Err(error) => {
            tracing::warn!(%server, %error, "The API server does not answer yet");
            Ok(())
        }
    }
}

fn is_hopeless(error: &Error) -> bool {
    match error {
        Error::Transport(error) => error.kind() == TransportErrorKind::Tls,
        Error::Api(status) => status.is_unauthorized(),
        Error::Credential(_) => true,
        _ => false,
    }
}

/// What the server calls itself; a server that does not tell is no fault.
async fn version(client: &Client) -> Option<String> {
    let body = get(client, "/version").await.ok()?;
    let body: serde_json::Value = serde_json::from_slice(&body).ok()?;
    body["gitVersion"].as_str().map(str::to_owned)
}

async fn get(client: &Client, path: &'static str) -> Result<Bytes, Error> {
    let mut request = http::Request::new(Bytes::new());
    *request.uri_mut() = http::Uri::from_static(path);
    Ok(client.raw(request).await?.into_body())
}
