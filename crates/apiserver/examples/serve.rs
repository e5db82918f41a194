//! Serves until Ctrl-C: `cargo run -p evenkeel-apiserver --example serve [address] [kubeconfig]`.

use std::io::Write;
use std::path::{Path, PathBuf};

use evenkeel_apiserver::Server;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let address = args.next().unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let file = args.next().map_or_else(
        || std::env::temp_dir().join("evenkeel.kubeconfig"),
        PathBuf::from,
    );
    let listener = Server::new().listen(address).await?;
    write_private(&file, &listener.kubeconfig())?;
    writeln!(std::io::stdout(), "export KUBECONFIG={}", file.display())?;
    tokio::signal::ctrl_c().await?;
    listener.shutdown().await;
    Ok(())
}

/// The file holds a token: nobody else may read it.
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}
