//! What goes on inside a pod: its logs, and, with the feature `ws`, commands and ports.

#[cfg(feature = "ws")]
mod channels;
#[cfg(feature = "ws")]
mod exec;
mod logs;
#[cfg(feature = "ws")]
mod port_forward;
#[cfg(feature = "ws")]
mod socket;

#[cfg(feature = "ws")]
pub use self::exec::{
    AttachOptions, ExecOptions, ExitStatus, Input, Output, Process, ProcessOutput,
};
pub use self::logs::{LogOptions, LogStream};
#[cfg(feature = "ws")]
pub use self::port_forward::Tunnel;

use evenkeel_meta::{ApiResource, Metadata, Scope};

use crate::api::Api;
use crate::client::Client;

/// One pod, for what is not reading or writing its object. Cloning is cheap.
///
/// ```
/// # async fn example(client: &evenkeel_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use evenkeel_client::LogOptions;
/// use tokio::io::AsyncBufReadExt;
///
/// let web = client.pod("shop", "web");
/// let mut lines = web.logs(&LogOptions::default().tail(100)).await?.lines();
/// while let Some(line) = lines.next_line().await? {
///     // ...
/// #   let _ = line;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PodHandle {
    api: Api<Metadata>,
    name: Box<str>,
}

impl Client {
    /// A pod's logs, and, with the feature `ws`, its commands and ports.
    #[must_use]
    pub fn pod(&self, namespace: &str, name: &str) -> PodHandle {
        let pods = ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced);
        PodHandle {
            api: self.metadata(pods, Some(namespace)),
            name: name.into(),
        }
    }
}
