//! Who is asking: what goes into the `Authorization` header.

mod exec;
mod impersonation;
mod secret;
#[cfg(test)]
mod tests;
mod token_file;

#[cfg(fuzzing)]
pub use self::exec::read_exec_answer;
pub use self::exec::{ExecConfig, ExecPolicy, ExecVersion, InteractiveMode};
pub use self::impersonation::Impersonation;
pub use self::secret::Secret;

pub(crate) use self::exec::{ClusterInfo, ExecPlugin};

use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine;
use http::HeaderValue;

use self::token_file::TokenFile;
use crate::error::CredentialError;

/// Credentials that are sent with each request. Cloning shares them.
///
/// Client certificates are not among them, except those of an exec plugin: they belong to the
/// connection.
#[derive(Clone, Debug)]
pub struct Credentials(Kind);

#[derive(Clone, Debug)]
enum Kind {
    None,
    Fixed(HeaderValue),
    File(Arc<TokenFile>),
    Exec(Arc<ExecPlugin>),
}

/// What one try shows to the server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offer {
    pub(crate) header: Option<HeaderValue>,
    /// The run of the plugin that it is from.
    run: u64,
}

impl Credentials {
    /// None: whatever the connection says, or anonymous.
    #[must_use]
    pub fn none() -> Self {
        Self(Kind::None)
    }

    /// A bearer token that does not change.
    ///
    /// # Errors
    ///
    /// If the token has characters that a header cannot carry.
    pub fn bearer(token: &Secret) -> Result<Self, CredentialError> {
        Ok(Self(Kind::Fixed(bearer_header(token)?)))
    }

    /// User name and password.
    ///
    /// # Errors
    ///
    /// If they have characters that a header cannot carry; they are encoded, so they never do.
    pub fn basic(user: &str, password: &Secret) -> Result<Self, CredentialError> {
        let pair = format!("{user}:{}", password.expose());
        let encoded = base64::engine::general_purpose::STANDARD.encode(pair);
        let value = sensitive(&format!("Basic {encoded}"), "user name or password")?;
        Ok(Self(Kind::Fixed(value)))
    }

    /// A bearer token in a file that someone else renews.
    ///
    /// It is read now, again once the copy is 50 s old, and once when the server answers
    /// 401 (client-go TR5). While the file is unreadable or empty the last good token stays
    /// in use; `fallback` is used if there was none yet. The file is read by one request; the
    /// others go on with the copy.
    ///
    /// # Errors
    ///
    /// If the file cannot be read and there is no fallback.
    pub fn token_file(
        path: impl Into<PathBuf>,
        fallback: Option<&Secret>,
    ) -> Result<Self, CredentialError> {
        Ok(Self(Kind::File(Arc::new(TokenFile::open(
            path.into(),
            fallback,
        )?))))
    }

    /// A program that prints a token or a client certificate.
    pub(crate) fn exec(plugin: ExecPlugin) -> Self {
        Self(Kind::Exec(Arc::new(plugin)))
    }

    /// The program, if there is one: its certificates belong to the connection.
    pub(crate) fn plugin(&self) -> Option<&Arc<ExecPlugin>> {
        match &self.0 {
            Kind::Exec(plugin) => Some(plugin),
            _ => None,
        }
    }

    /// What to show at the next try.
    pub(crate) async fn offer(&self) -> Result<Offer, CredentialError> {
        let fixed = |header| Offer { header, run: 0 };
        match &self.0 {
            Kind::None => Ok(Offer::default()),
            Kind::Fixed(value) => Ok(fixed(Some(value.clone()))),
            Kind::File(file) => Ok(fixed(Some(file.current().await))),
            Kind::Exec(plugin) => {
                let obtained = plugin.current().await?;
                Ok(Offer {
                    header: obtained.header.clone(),
                    run: obtained.run,
                })
            }
        }
    }

    /// The server refused `used`: whether there is something else to offer now.
    pub(crate) async fn refresh(&self, used: &Offer) -> bool {
        match &self.0 {
            Kind::None | Kind::Fixed(_) => false,
            Kind::File(file) => file.replace(used.header.as_ref()).await,
            Kind::Exec(plugin) => plugin.replace(used.run).await,
        }
    }
}

fn bearer_header(token: &Secret) -> Result<HeaderValue, CredentialError> {
    sensitive(&format!("Bearer {}", token.expose()), "token")
}

/// A header value that `Debug` does not show.
fn sensitive(text: &str, what: &'static str) -> Result<HeaderValue, CredentialError> {
    let mut value =
        HeaderValue::from_str(text).map_err(|_| CredentialError::NotAHeader { what })?;
    value.set_sensitive(true);
    Ok(value)
}
