//! SIGINT and SIGTERM as a two-step stop.

use tokio_util::sync::CancellationToken;

/// Waits for SIGINT or SIGTERM, then cancels `stop`; returns at the second signal.
///
/// The caller runs this beside its work and ends the process when it returns: the first
/// signal asks for an orderly end, the second for an end at once. Dropping the future gives
/// the signals back to their former handling only when the process ends (a property of
/// `tokio::signal`).
///
/// # Errors
///
/// When the handlers cannot be installed.
pub async fn stop_on_signal(stop: CancellationToken) -> std::io::Result<()> {
    let mut signals = Signals::install()?;
    signals.next().await;
    tracing::info!("Stopping; a second signal ends the process at once");
    stop.cancel();
    signals.next().await;
    Ok(())
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn install() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "the Unix form can fail")]
    fn install() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        // An error means that no signal will ever come: wait for ever rather than stop.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
