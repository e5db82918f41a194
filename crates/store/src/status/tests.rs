use evenkeel_meta::{GroupResource, Status as ApiStatus};

use super::*;
use crate::reflector::FailureClass;

fn forbidden() -> Failure {
    let pods = GroupResource {
        group: "".into(),
        resource: "pods".into(),
    };
    ApiStatus::forbidden(&pods, "", "no").into()
}

#[tokio::test(start_paused = true)]
async fn incident_16_the_state_names_verb_resource_error_since_when_and_tries() {
    let status = Status::new("pods".into());
    status.enter(SyncPhase::Syncing);
    assert_eq!(
        status.sync_state().to_string(),
        "not synced: list pods: no answer yet, 0 s"
    );
    for _ in 0..4 {
        tokio::time::advance(Duration::from_secs(4)).await;
        let failure = forbidden();
        status.report(&Report::Failed {
            step: Step::List,
            failure,
        });
    }
    let text = status.sync_state().to_string();
    assert!(text.starts_with("not synced: list pods: "), "{text}");
    assert!(text.contains("pods is forbidden: no"), "{text}");
    assert!(text.ends_with(", 12 s, 4 tries"), "{text}");
    let Err(error) = status.synced_within(Duration::from_secs(1)).await else {
        panic!("synced")
    };
    assert!(error.to_string().contains("pods is forbidden"), "{error}");

    status.report(&Report::Recovered(Step::List));
    status.enter(SyncPhase::Synced);
    assert_eq!(status.sync_state().to_string(), "synced");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_works_does_not_hide_a_watch_that_fails() {
    let status = Status::new("pods".into());
    for _ in 0..3 {
        status.report(&Report::Recovered(Step::List));
        let failure = Failure::new(FailureClass::Refused, "watch pods: no");
        status.report(&Report::Failed {
            step: Step::Watch,
            failure,
        });
    }
    let failure = status.sync_state().failure.unwrap();
    assert_eq!((failure.step, failure.tries), (Step::Watch, 3));
    // The request is not named twice.
    assert_eq!(failure.to_string(), "watch pods: no, 0 s, 3 tries");
    status.report(&Report::Recovered(Step::Watch));
    assert!(status.sync_state().failure.is_none());
}

#[tokio::test(start_paused = true)]
async fn freshness_is_the_time_since_anything_came() {
    let status = Status::new("pods".into());
    assert_eq!(status.freshness(ResourceVersion::unset()).age(), None);
    status.changed();
    tokio::time::advance(Duration::from_secs(50)).await;
    status.bookmark();
    tokio::time::advance(Duration::from_secs(10)).await;
    let freshness = status.freshness(7.into());
    assert_eq!(freshness.last_event, Some(Duration::from_secs(60)));
    assert_eq!(freshness.age(), Some(Duration::from_secs(10)));
}
