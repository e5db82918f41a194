//! A Manager as the last line of `main`: real signals to this process, so this is one test.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use evenkeel::client::Client;
use evenkeel::{Manager, ManagerError};
use evenkeel_apiserver::Server;

fn terminate_self() {
    let id = std::process::id().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-TERM", &id])
        .status();
    assert!(sent.unwrap().success());
}

fn manager() -> Manager {
    Manager::builder(Client::from_service(Server::new()))
        .build()
        .unwrap()
}

#[tokio::test]
async fn the_first_signal_stops_in_order_and_the_second_ends_at_once() {
    let within = Duration::from_secs(20);
    let mut orderly = manager();
    let address = orderly
        .serve_probes(([127, 0, 0, 1], 0).into())
        .await
        .unwrap();
    assert_ne!(address.port(), 0);
    let done = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&done);
    orderly.run_always("work", move |term| {
        let seen = Arc::clone(&seen);
        async move {
            // Serves while anything runs, and what this says comes only after the handlers are there.
            let probed = tokio::net::TcpStream::connect(address).await;
            assert!(probed.is_ok());
            terminate_self();
            term.stop.cancelled().await;
            seen.store(true, Ordering::Release);
            Ok(())
        }
    });
    let ended = tokio::time::timeout(within, orderly.run_until_signal()).await;
    assert!(ended.unwrap().is_ok());
    assert!(done.load(Ordering::Acquire), "what ran had its time to end");

    let mut stuck = manager();
    stuck.run_always("stuck", |term| async move {
        terminate_self();
        term.stop.cancelled().await;
        terminate_self();
        std::future::pending().await
    });
    let ended = tokio::time::timeout(within, stuck.run_until_signal())
        .await
        .unwrap();
    let error = ended.unwrap_err();
    assert!(matches!(error, ManagerError::SecondSignal));
    assert_eq!(error.to_string(), "ended at once by a second signal");
}
