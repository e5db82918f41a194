//! From the locks of old releases to Leases, in three steps of a rolling upgrade.

use evenkeel_client::WriteOptions;
use evenkeel_meta::{ApiResource, Reason};

use super::*;
use crate::{Legacy, Lock};

const ANNOTATION: &str = "control-plane.alpha.kubernetes.io/leader";
const OLD: Lock = Lock::Legacy(Legacy::ConfigMaps);
const BOTH: Lock = Lock::Both(Legacy::ConfigMaps);

/// Candidates that count how many of them work.
#[derive(Clone, Default)]
struct Crew {
    working: Arc<AtomicUsize>,
    terms: Arc<AtomicUsize>,
}

/// A candidate that runs until it is stopped or dropped.
struct Member {
    cancel: CancellationToken,
    task: tokio::task::JoinHandle<Ended>,
    elector: Elector,
}

impl Crew {
    fn join(&self, world: &World, identity: &str, lock: Lock) -> Member {
        let elector = world.builder(identity).lock(lock).build().unwrap();
        let cancel = CancellationToken::new();
        let crew = self.clone();
        let task = tokio::spawn({
            let (elector, cancel) = (elector.clone(), cancel.clone());
            async move { elector.run(&cancel, |term| crew.work(term)).await }
        });
        Member {
            cancel,
            task,
            elector,
        }
    }

    async fn work(self, term: Term) {
        let _working = self.begin();
        term.stop().cancelled().await;
    }

    fn begin(&self) -> Working {
        let others = self.working.fetch_add(1, Ordering::SeqCst);
        assert_eq!(others, 0, "two leaders at once");
        self.terms.fetch_add(1, Ordering::SeqCst);
        Working(Arc::clone(&self.working))
    }

    fn terms(&self) -> usize {
        self.terms.load(Ordering::SeqCst)
    }

    async fn has_terms(&self, count: usize) -> Duration {
        until(|| self.terms() == count).await
    }
}

struct Working(Arc<AtomicUsize>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Member {
    async fn stop(self) -> Ended {
        self.cancel.cancel();
        self.task.await.unwrap()
    }

    /// As with kill -9.
    fn crash(self) {
        self.task.abort();
    }
}

/// The one that leads, and the others.
fn leader_of(mut members: Vec<Member>) -> (Member, Vec<Member>) {
    let at = members.iter().position(|m| m.elector.is_leading()).unwrap();
    let leader = members.remove(at);
    (leader, members)
}

impl World {
    fn legacy(&self) -> evenkeel_client::Api<DynamicObject> {
        let resource = ApiResource::new_static(
            "",
            "v1",
            "ConfigMap",
            "configmaps",
            evenkeel_meta::Scope::Namespaced,
        );
        self.client.dynamic(resource, Some(NAMESPACE))
    }

    async fn annotation(&self) -> Value {
        let object = self.legacy().get("demo").await.unwrap();
        serde_json::from_str(&object.metadata.annotations[ANNOTATION]).unwrap()
    }

    async fn create_legacy(&self, annotations: Value) {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "demo", "annotations": annotations}, "data": {"theirs": "kept"}});
        let object = serde_json::from_value(object).unwrap();
        let options = WriteOptions::default();
        self.legacy().create(&object, &options).await.unwrap();
    }
}

fn record(holder: &str, transitions: i32) -> String {
    json!({"holderIdentity": holder, "leaseDurationSeconds": 15,
        "acquireTime": "2000-01-01T00:00:00Z", "renewTime": "2000-01-01T00:00:00Z",
        "leaderTransitions": transitions})
    .to_string()
}

#[tokio::test(start_paused = true)]
async fn l22_an_object_without_an_annotation_is_taken_at_once_and_kept_as_it_was() {
    let world = World::new();
    world.create_legacy(json!({"other": "kept"})).await;
    let crew = Crew::default();
    let member = crew.join(&world, "A", OLD);
    assert!(crew.has_terms(1).await < SECOND);
    sleep(SECOND).await;
    let taken = world.annotation().await;
    assert_eq!(
        (&taken["holderIdentity"], &taken["leaderTransitions"]),
        (&json!("A"), &json!(1))
    );
    assert_eq!(member.stop().await, Ended::Released);
    let released = world.annotation().await;
    assert_eq!(
        (
            &released["holderIdentity"],
            &released["leaseDurationSeconds"]
        ),
        (&json!(""), &json!(1))
    );
    let object = world.legacy().get("demo").await.unwrap();
    assert_eq!(object.metadata.annotations["other"], "kept");
    assert_eq!(object.data["data"]["theirs"], "kept");
    assert!(world.leases().get("demo").await.is_err(), "no Lease");
}

#[tokio::test(start_paused = true)]
async fn l22_a_missing_object_is_created_with_no_transitions_and_a_foreign_holder_waited_for() {
    let world = World::new();
    let crew = Crew::default();
    let first = crew.join(&world, "A", OLD);
    crew.has_terms(1).await;
    assert_eq!(world.annotation().await["leaderTransitions"], 0);
    let second = crew.join(&world, "B", OLD);
    sleep(60 * SECOND).await;
    assert!(first.elector.is_leading() && !second.elector.is_leading());
    first.crash();
    let took = crew.has_terms(2).await;
    assert!(took > 12 * SECOND && took < 20 * SECOND, "{took:?}");
    assert_eq!(world.annotation().await["leaderTransitions"], 1);
}

#[tokio::test(start_paused = true)]
async fn l23_both_objects_are_written_the_legacy_one_first() {
    let world = World::new();
    let crew = Crew::default();
    let member = crew.join(&world, "A", BOTH);
    crew.has_terms(1).await;
    sleep(5 * SECOND).await;
    assert_eq!(world.annotation().await["holderIdentity"], "A");
    assert_eq!(world.holder().await, "A");
    world.network.clear();
    sleep(2 * SECOND).await;
    let paths = world.network.paths();
    let order: Vec<_> = paths.iter().map(|path| path.contains("leases")).collect();
    assert_eq!(order, [false, true], "{paths:?}");
    assert_eq!(member.stop().await, Ended::Released);
    assert_eq!(world.annotation().await["holderIdentity"], "");
    assert_eq!(world.holder().await, "");
}

/// Whatever two objects say, as long as they do not say the same, nobody is free to lead
/// before a whole lease has gone by without a change.
#[tokio::test(start_paused = true)]
async fn l23_objects_that_disagree_are_waited_for_like_any_holder() {
    for (legacy, lease) in [("X", "Y"), ("", "Y"), ("X", "")] {
        let world = World::new();
        let annotations = json!({ ANNOTATION: record(legacy, 7) });
        world.create_legacy(annotations).await;
        world.lease_of(lease, 15, 7).await;
        let crew = Crew::default();
        let member = crew.join(&world, "A", BOTH);
        let took = crew.has_terms(1).await;
        assert!(took > 15 * SECOND && took < 20 * SECOND, "{took:?}");
        assert_eq!(world.annotation().await["leaderTransitions"], 8);
        assert_eq!(world.spec().await["leaseTransitions"], 8);
        member.stop().await;
    }
}

/// The order of writes, both ways: the legacy object cannot be written, or the Lease cannot.
#[tokio::test(start_paused = true)]
async fn l23_either_write_failing_ends_the_term_before_anybody_else_begins() {
    for broken in ["configmaps", "leases"] {
        let world = World::new();
        let crew = Crew::default();
        let members = vec![
            crew.join(&world, "A", BOTH),
            crew.join(&world, "B", BOTH),
            crew.join(&world, "C", BOTH),
        ];
        crew.has_terms(1).await;
        sleep(20 * SECOND).await;
        let when = When::verb(Verb::Update).on(broken);
        let fault = world.server.faults().inject(when, Fault::forbidden());
        let (leader, _others) = leader_of(members);
        let took = until(|| !leader.elector.is_leading()).await;
        assert!(took <= 12 * SECOND, "{took:?}");
        sleep(60 * SECOND).await;
        assert_eq!(crew.terms(), 1, "{broken}: nobody can lead");
        fault.lift();
        crew.has_terms(2).await;
    }
}

/// The Lease was taken by a candidate of the next step in between: the old releases would
/// write over it.
#[tokio::test(start_paused = true)]
async fn l23_a_lease_that_was_taken_in_between_is_not_written_over() {
    let world = World::new();
    let crew = Crew::default();
    let slow = When::verb(Verb::Create).on("configmaps").times(1);
    let delay = Fault::Delay(2 * SECOND);
    world.server.faults().inject(slow, delay);
    let pair = crew.join(&world, "A", BOTH);
    sleep(SECOND).await;
    let alone = crew.join(&world, "B", Lock::Lease);
    crew.has_terms(1).await;
    sleep(60 * SECOND).await;
    assert!(alone.elector.is_leading() && !pair.elector.is_leading());
    assert_eq!((crew.terms(), world.holder().await), (1, "B".to_owned()));
}

/// A whole upgrade: three candidates, replaced one by one in each step, with a crash of the
/// leader in each. The crew asserts that there are never two leaders.
#[tokio::test(start_paused = true)]
async fn l24_a_rolling_upgrade_in_three_steps_never_has_two_leaders() {
    let world = World::new();
    let crew = Crew::default();
    let mut members: Vec<_> = ["old-1", "old-2", "old-3"]
        .map(|name| crew.join(&world, name, OLD))
        .into();
    crew.has_terms(1).await;
    let mut terms = 1;
    for (step, lock) in [("both", BOTH), ("lease", Lock::Lease)] {
        for index in 0..3 {
            sleep(7 * SECOND).await;
            let leaving = members.remove(0);
            let led = leaving.elector.is_leading();
            if index == 1 {
                leaving.crash();
            } else {
                leaving.stop().await;
            }
            members.push(crew.join(&world, &format!("{step}-{index}"), lock));
            terms += usize::from(led);
            crew.has_terms(terms).await;
        }
        // In each step, the leader crashes once more.
        sleep(20 * SECOND).await;
        let (leader, others) = leader_of(members);
        leader.crash();
        terms += 1;
        let took = crew.has_terms(terms).await;
        assert!(took < 25 * SECOND, "{step}: {took:?}");
        members = others;
        members.push(crew.join(&world, &format!("{step}-again"), lock));
    }
    assert_eq!(world.spec().await["leaseTransitions"], terms as u64 - 1);
    assert!(members.iter().any(|member| member.elector.is_leading()));
}

/// A candidate of the first step was forgotten: the Lease is free, and must not be taken.
#[tokio::test(start_paused = true)]
async fn l24_a_lease_is_not_taken_before_the_legacy_lock_has_run_out() {
    let world = World::new();
    let crew = Crew::default();
    let old = crew.join(&world, "old", OLD);
    crew.has_terms(1).await;
    let after = Lock::LeaseAfter(Legacy::ConfigMaps);
    let new = crew.join(&world, "new", after);
    sleep(120 * SECOND).await;
    assert!(old.elector.is_leading() && !new.elector.is_leading());
    old.crash();
    let took = crew.has_terms(2).await;
    assert!(took > 12 * SECOND && took < 20 * SECOND, "{took:?}");
    // What it did not write, it leaves alone.
    assert_eq!(new.stop().await, Ended::Released);
    assert_eq!(world.annotation().await["holderIdentity"], "old");

    // A standby that has seen for long that nobody renews the legacy lock waits no more.
    let first = crew.join(&world, "first", after);
    crew.has_terms(3).await;
    let _second = crew.join(&world, "second", after);
    sleep(60 * SECOND).await;
    assert_eq!(first.stop().await, Ended::Released);
    let took = crew.has_terms(4).await;
    assert!(took < SECOND, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn l24_a_legacy_lock_that_cannot_be_read_keeps_the_lease_from_being_taken() {
    let world = World::new();
    let when = When::verb(Verb::Get).on("configmaps");
    let refused = Fault::refuse(403, Reason::Forbidden, "no");
    let fault = world.server.faults().inject(when, refused);
    let crew = Crew::default();
    let _member = crew.join(&world, "A", Lock::LeaseAfter(Legacy::ConfigMaps));
    sleep(60 * SECOND).await;
    assert_eq!(crew.terms(), 0);
    fault.lift();
    assert!(crew.has_terms(1).await < 5 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn l22_l23_events_are_about_each_object_of_the_lock() {
    let world = World::new();
    let kinds = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let heard = Arc::clone(&kinds);
    let announce = move |news: crate::Announcement| heard.lock().push(news.kind);
    let builder = world.builder("A").lock(BOTH).announce(announce);
    let never = CancellationToken::new();
    builder.build().unwrap().run(&never, |_| async {}).await;
    let expected = ["ConfigMap", "Lease", "ConfigMap", "Lease"];
    assert_eq!(*kinds.lock(), expected);
}
