use std::time::Duration;

/// Limits of the network transport.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransportOptions {
    /// How many watches share one HTTP/2 connection. Default 64; API servers take about 100
    /// streams on a connection.
    pub watches_per_connection: usize,
    /// A bound for making a connection, with its TLS handshake. Default 30 s.
    pub connect_timeout: Duration,
    /// How long a connection may be silent before a ping is sent. Default 30 s.
    pub ping_after: Duration,
    /// How long the answer to a ping may take. Default 15 s.
    pub ping_timeout: Duration,
    /// How long a connection without requests is kept. Default 90 s.
    pub idle_timeout: Duration,
    /// Do without HTTP/2.
    pub http1_only: bool,
    /// How old the last look at the files of certificates may be when a request is sent.
    /// Default 30 s; after a failed handshake they are looked at at once.
    pub reload_after: Duration,
    /// How long watches go on with an old certificate or CA after it was replaced. They end
    /// one after another within this time, as if the server had ended them. Default 60 s.
    pub drain_within: Duration,
}

impl Default for TransportOptions {
    fn default() -> Self {
        Self {
            watches_per_connection: 64,
            connect_timeout: Duration::from_secs(30),
            ping_after: Duration::from_secs(30),
            ping_timeout: Duration::from_secs(15),
            idle_timeout: Duration::from_secs(90),
            http1_only: false,
            reload_after: Duration::from_secs(30),
            drain_within: Duration::from_secs(60),
        }
    }
}

impl TransportOptions {
    /// With this many watches on one connection.
    #[must_use]
    pub fn watches_per_connection(mut self, streams: usize) -> Self {
        self.watches_per_connection = streams;
        self
    }

    /// With this bound for making a connection.
    #[must_use]
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// With pings after `silence`, answered within `timeout`.
    #[must_use]
    pub fn ping(mut self, silence: Duration, timeout: Duration) -> Self {
        self.ping_after = silence;
        self.ping_timeout = timeout;
        self
    }

    /// With this age for the last look at the files of certificates.
    #[must_use]
    pub fn reload_after(mut self, age: Duration) -> Self {
        self.reload_after = age;
        self
    }

    /// With this bound for watches that began with an old certificate or CA.
    #[must_use]
    pub fn drain_within(mut self, bound: Duration) -> Self {
        self.drain_within = bound;
        self
    }

    /// Without HTTP/2.
    #[must_use]
    pub fn http1_only(mut self) -> Self {
        self.http1_only = true;
        self
    }
}
