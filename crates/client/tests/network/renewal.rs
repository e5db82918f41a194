//! Certificates that are replaced while a client is in use.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use evenkeel_client::{
    Client, Config, Error, ExecConfig, ExecVersion, ListOptions, TransportErrorKind,
    TransportOptions, WatchStream,
};
use evenkeel_meta::Metadata;
use futures_util::StreamExt;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

use crate::server::TestServer;
use crate::{H2, eventually, open_watch, pods, trusting};

/// Looks at the files with every request.
fn eager() -> TransportOptions {
    TransportOptions::default()
        .reload_after(Duration::ZERO)
        .drain_within(Duration::from_millis(300))
}

/// The files of one test: a CA, a client certificate, its key.
struct Files {
    folder: PathBuf,
}

impl Files {
    fn new(test: &str, server: &TestServer) -> Self {
        let name = format!("evenkeel-renewal-{}-{test}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let files = Self { folder };
        files.write("ca.crt", &server.ca_pem);
        files.renew(server);
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Writes a new client certificate.
    fn renew(&self, server: &TestServer) -> CertificateDer<'static> {
        let (certificate, key) = server.client_certificate();
        self.write("tls.crt", &certificate);
        self.write("tls.key", &key);
        der(&certificate)
    }

    fn config(&self, server: &TestServer) -> Config {
        Config::new(&format!("https://{}", server.address))
            .unwrap()
            .ca_file(self.path("ca.crt"))
            .client_certificate_file(self.path("tls.crt"), self.path("tls.key"))
    }
}

fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

async fn list(client: &Client) -> Result<(), Error> {
    let list = pods(client).list(&ListOptions::default()).await;
    list.map(|_| ())
}

fn last_shown(server: &TestServer) -> Option<CertificateDer<'static>> {
    server.seen.shown.lock().last().unwrap().clone()
}

/// The watch ends as if the server had ended it.
async fn ends(watch: &mut WatchStream<Metadata>) {
    let end = tokio::time::timeout(Duration::from_secs(20), watch.next()).await;
    assert!(end.unwrap().is_none());
}

#[tokio::test]
async fn client_go_tr3_requests_move_to_a_new_certificate_at_once_and_old_watches_end() {
    let server = TestServer::start("127.0.0.1", H2).await;
    let files = Files::new("tr3", &server);
    let client = Client::connect_with(&files.config(&server), &eager()).unwrap();
    list(&client).await.unwrap();
    list(&client).await.unwrap();
    assert_eq!(server.connections(), 1, "the first load is no change");
    let mut watch = open_watch(&client).await;
    let old = last_shown(&server);

    let new = files.renew(&server);
    list(&client).await.unwrap();
    assert_eq!(last_shown(&server).as_ref(), Some(&new));
    assert_ne!(last_shown(&server), old);
    ends(&mut watch).await;
    drop(watch);
    let open = || server.seen.open_connections.load(Ordering::SeqCst);
    eventually("the old connections close", || open() == 1).await;
    let mut watch = open_watch(&client).await;
    assert_eq!(last_shown(&server).as_ref(), Some(&new));
    let quiet = tokio::time::timeout(Duration::from_millis(500), watch.next()).await;
    assert!(quiet.is_err(), "a watch of the new certificate goes on");
}

#[tokio::test]
async fn client_go_tr3_half_of_a_new_pair_changes_nothing() {
    let server = TestServer::start("127.0.0.1", H2).await;
    let files = Files::new("tr3-half", &server);
    let client = Client::connect_with(&files.config(&server), &eager()).unwrap();
    list(&client).await.unwrap();
    let old = last_shown(&server);
    let (certificate, key) = server.client_certificate();
    files.write("tls.crt", &certificate);
    list(&client).await.unwrap();
    std::fs::remove_file(files.path("tls.key")).unwrap();
    list(&client).await.unwrap();
    assert_eq!((last_shown(&server), server.connections()), (old, 1));
    files.write("tls.key", &key);
    list(&client).await.unwrap();
    assert_eq!(last_shown(&server), Some(der(&certificate)));
}

#[tokio::test]
async fn client_go_tr3_a_certificate_that_is_refused_is_looked_at_again() {
    for alpn in [H2, &["http/1.1"]] {
        let server = TestServer::start("127.0.0.1", alpn).await;
        let files = Files::new("tr3-refused", &server);
        let rarely = eager().reload_after(Duration::from_secs(3600));
        let client = Client::connect_with(&files.config(&server), &rarely).unwrap();
        list(&client).await.unwrap();
        // By an answer.
        let new = files.renew(&server);
        *server.seen.accepted.lock() = Some(new);
        list(&client).await.unwrap();
        *server.seen.accepted.lock() = None;
        // By a handshake.
        let (certificate, key) = server.renew_client_ca();
        server.cut();
        files.write("tls.crt", &certificate);
        files.write("tls.key", &key);
        list(&client).await.unwrap();
        assert_eq!(last_shown(&server), Some(der(&certificate)));
    }
}

#[tokio::test]
async fn client_go_tr3_a_program_that_only_watches_moves_too() {
    let server = TestServer::start("127.0.0.1", H2).await;
    let files = Files::new("tr3-watch", &server);
    let options = eager().reload_after(Duration::from_millis(50));
    let client = Client::connect_with(&files.config(&server), &options).unwrap();
    let mut watches = vec![open_watch(&client).await, open_watch(&client).await];
    files.renew(&server);
    for watch in &mut watches {
        ends(watch).await;
    }
}

#[tokio::test]
async fn client_go_tr4_ts92_a_ca_that_is_missing_empty_or_broken_changes_nothing() {
    let server = TestServer::start("127.0.0.1", H2).await;
    let files = Files::new("tr4", &server);
    let client = Client::connect_with(&files.config(&server), &eager()).unwrap();
    let _watch = open_watch(&client).await;
    list(&client).await.unwrap();
    let same = server.ca_pem.clone();
    for text in [
        Some(""),
        Some("-----BEGIN CERTIFICATE-----\nxx"),
        None,
        Some(&*same),
    ] {
        match text {
            Some(text) => files.write("ca.crt", text),
            None => std::fs::remove_file(files.path("ca.crt")).unwrap(),
        }
        list(&client).await.unwrap();
        assert_eq!(server.connections(), 2, "{text:?}");
    }
}

#[tokio::test]
async fn client_go_tr4_ts92_a_server_with_a_new_ca_is_trusted_once_the_file_has_it() {
    let server = TestServer::start("127.0.0.1", H2).await;
    let files = Files::new("tr4-new", &server);
    // The failed handshake is what makes the client look.
    let rarely = eager().reload_after(Duration::from_secs(3600));
    let client = Client::connect_with(&files.config(&server), &rarely).unwrap();
    list(&client).await.unwrap();
    let ca = server.renew();
    server.cut();
    let refused = async || match list(&client).await {
        Err(Error::Transport(error)) => error.kind() == TransportErrorKind::Tls,
        _ => false,
    };
    assert!(refused().await);
    files.write("ca.crt", &ca);
    list(&client).await.unwrap();
    files.write("ca.crt", "");
    list(&client).await.unwrap();
}

#[tokio::test]
async fn client_go_b27_many_renewals_leave_nothing_behind() {
    let server = TestServer::start("127.0.0.1", H2).await;
    let files = Files::new("b27", &server);
    let client = Client::connect_with(&files.config(&server), &eager()).unwrap();
    for _ in 0..50 {
        let new = files.renew(&server);
        list(&client).await.unwrap();
        assert_eq!(last_shown(&server), Some(new));
    }
    assert_eq!(server.connections(), 50);
    let open = || server.seen.open_connections.load(Ordering::SeqCst);
    eventually("one connection is left", || open() == 1).await;
    let clone = client.clone();
    drop(client);
    list(&clone).await.unwrap();
    assert_eq!(server.connections(), 50, "clones share their connections");
    drop(clone);
    eventually("none is left", || open() == 0).await;
}

/// A plugin that prints the certificate in the files of its folder.
fn printing(files: &Files) -> ExecConfig {
    let script = r#"
        text() { awk '{printf "%s\\n", $0}' "$1"; }
        printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",'
        printf '"status":{"clientCertificateData":"%s","clientKeyData":"%s"}}' "$(text tls.crt)" "$(text tls.key)"
        echo run >>runs
    "#;
    files.write("plugin", &format!("cd {:?}\n{script}", files.folder));
    ExecConfig::new(ExecVersion::V1, "sh").args([files.path("plugin").to_str().unwrap()])
}

fn runs(folder: &Path) -> usize {
    let text = std::fs::read_to_string(folder.join("runs"));
    text.unwrap_or_default().lines().count()
}

#[tokio::test]
async fn client_go_x3_a_new_certificate_of_a_plugin_has_connections_of_its_own() {
    let server = TestServer::start("127.0.0.1", H2).await;
    let files = Files::new("x3", &server);
    let first = files.renew(&server);
    let config = trusting(&server).exec(printing(&files));
    let client = Client::connect_with(&config, &eager()).unwrap();
    list(&client).await.unwrap();
    let mut watch = open_watch(&client).await;
    assert_eq!(last_shown(&server), Some(first));
    assert_eq!(
        runs(&files.folder),
        1,
        "credentials and connections share a run"
    );

    let second = files.renew(&server);
    *server.seen.accepted.lock() = Some(second.clone());
    list(&client).await.unwrap();
    assert_eq!(last_shown(&server), Some(second));
    assert_eq!(runs(&files.folder), 2, "one 401, one more run");
    ends(&mut watch).await;

    let (stranger, _) = server.client_certificate();
    *server.seen.accepted.lock() = Some(der(&stranger));
    assert!(list(&client).await.unwrap_err().is_unauthorized());
    assert_eq!(runs(&files.folder), 3);
}
