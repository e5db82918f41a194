//! Events of reconcilers and of the Manager itself.
#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod plane;

use std::time::Duration;

use evenkeel::client::{Client, ListOptions};
use evenkeel::election::Clock;
use evenkeel::events::{Event, EventType, ObjectReference};
use evenkeel::meta::Object;
use evenkeel::{Controller, Election, Manager, Outcome};
use evenkeel_apiserver::Server;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio_util::sync::CancellationToken;

use plane::act::Act;
use plane::config_map;

async fn events(client: &Client) -> Vec<(String, String, i32)> {
    let events = client.namespaced::<Event>("default");
    let all = events.list(&ListOptions::default()).await.unwrap().items;
    let mut all: Vec<_> = all
        .into_iter()
        .map(|event| {
            (
                event.source.component.clone(),
                event.reason.clone(),
                event.count,
            )
        })
        .collect();
    all.sort();
    all
}

fn manager(client: &Client) -> Manager {
    let mut election = Election::new("default", "test");
    election.clock = Some(Clock::tokio());
    Manager::builder(client.clone())
        .election(election)
        .build()
        .unwrap()
}

fn event(component: &str, reason: &str, count: i32) -> (String, String, i32) {
    (component.to_owned(), reason.to_owned(), count)
}

#[tokio::test(start_paused = true)]
async fn reconcilers_report_under_their_controllers_names_and_the_last_words_are_written() {
    let server = Server::new();
    let client = Client::from_service(server.clone());
    let east = Server::new();
    let far = Client::from_service(east.clone());
    let mut manager = manager(&client);
    let cluster = manager.cluster("east", far.clone()).unwrap();
    let map = config_map("web");
    let about = ObjectReference::of(&map);
    for (name, writes_east) in [("near", false), ("far", true)] {
        let (sender, keys) = tokio::sync::mpsc::channel(4);
        let about = about.clone();
        let mut builder = Controller::builder(name).receives(keys);
        if writes_east {
            builder = builder.writes_to(&cluster);
        }
        let controller = builder.reconciler(Act::new(move |context, key: &u32| {
            let (about, key) = (about.clone(), *key);
            Box::pin(async move {
                context
                    .recorder()
                    .event(&about, EventType::Normal, "Ran", format!("key {key}"));
                // Outlives the grace period, and has a last word.
                context.stopping().await;
                context
                    .recorder()
                    .event(&about, EventType::Warning, "CutShort", "no time left");
                Ok(Outcome::Done)
            })
        }));
        manager.add(controller).unwrap();
        sender.try_send(1).unwrap();
        // Keeps the channel for as long as the process would.
        std::mem::forget(sender);
    }
    let recorder = manager.recorder("main");
    recorder.event(&about, EventType::Normal, "Starting", "about to");
    recorder.event(&about, EventType::Normal, "Starting", "about to");
    cluster
        .recorder("main")
        .event(&about, EventType::Normal, "Joined", "the east");

    let stop = CancellationToken::new();
    let running = tokio::spawn(manager.run(stop.clone()));
    tokio::time::sleep(Duration::from_secs(60)).await;
    stop.cancel();
    running.await.unwrap().unwrap();
    assert_eq!(
        events(&client).await,
        [
            event("main", "Starting", 2),
            event("near", "CutShort", 1),
            event("near", "Ran", 1)
        ]
    );
    assert_eq!(
        events(&far).await,
        [
            event("far", "CutShort", 1),
            event("far", "Ran", 1),
            event("main", "Joined", 1)
        ]
    );
    // When it has ended, nothing of it writes any more.
    recorder.event(&about, EventType::Normal, "Late", "too late");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(events(&client).await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_controller_without_a_manager_reports_with_its_terms_client() {
    let plane = plane::Plane::start();
    let controller = Controller::builder("alone")
        .for_(&plane.maps)
        .reconciler(Act::new(|context, key: &evenkeel::meta::ObjectKey| {
            let about = ObjectReference::of(&config_map(key.name()));
            Box::pin(async move {
                context
                    .recorder()
                    .event(&about, EventType::Normal, "Seen", "there it is");
                Ok(Outcome::Done)
            })
        }));
    let going = plane.begin(controller);
    let map: ConfigMap = config_map("web");
    plane.create(&map).await;
    plane::journal::settle().await;
    assert_eq!(events(&plane.client).await, [event("alone", "Seen", 1)]);
    assert_eq!(map.metadata().name.as_deref(), Some("web"));
    going.end().await;
    plane.stop().await;
}
