use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use evenkeel::events::{EventType, ObjectReference};
use evenkeel::meta::{MetaView, Object, ObjectKey, Resource};
use evenkeel::pace::Moment;
use evenkeel::store::{Index, InformerOptions, Store};
use evenkeel::{
    BoxError, Clock, Context, Controller, Manager, Outcome, ReconcileError, ReconcileResult,
    Reconciler, Watch, changed,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v1::{Scale, ScaleSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::Autoscaler;
use crate::push::{Latest, Push};
use crate::source::{Reading, Source, SourceError};
use crate::status::{self, Inactive};
use crate::target::Target;
use crate::window::{self, Window};

/// How long a source that fails is left alone: longer than between two polls that succeed, unless these
/// are seldom.
pub const AFTER_FAILURE: Duration = Duration::from_secs(30);
/// The longest that a source may take.
pub const SLOWEST: Duration = Duration::from_secs(5);

/// Scales Deployments.
#[derive(Debug)]
pub struct Autoscalers<S> {
    source: S,
    autoscalers: Store<Autoscaler>,
    by_target: Index<Autoscaler>,
    targets: Store<Target>,
    latest: Latest,
    memory: Mutex<HashMap<ObjectKey, Memory>>,
    origin: Instant,
    clock: Clock,
}

/// What is remembered of an autoscaler. Without it there are as many pods as there are now for a
/// while, and no fewer.
#[derive(Debug, Default)]
struct Memory {
    window: Window,
    /// How many pods there were last, as far as it knows.
    left: Option<i32>,
}

/// Adds the operator to a Manager. Numbers that `source` is not asked for go into what is returned.
///
/// # Errors
/// There is a controller named `autoscaler` already.
pub fn install<S: Source>(
    manager: &mut Manager,
    source: S,
    clock: Clock,
) -> Result<Push, BoxError> {
    let autoscalers = manager.watch::<Autoscaler>();
    let everywhere = InformerOptions::default();
    let deployments = Deployment::api_resource();
    let informers = manager.informers();
    let targets = informers.projected::<Target>(deployments, everywhere);
    let by_target = Index::new("target", |one: &Autoscaler| [target(one).to_string()]);
    let by_metric = Index::new("metric", |one: &Autoscaler| [one.spec.metric.clone()]);
    autoscalers.add_index(by_target.clone())?;
    autoscalers.add_index(by_metric.clone())?;

    let (keys, pushed) = mpsc::channel(1000);
    let latest = Latest::default();
    let push = Push {
        autoscalers: autoscalers.store().clone(),
        by_metric,
        latest: latest.clone(),
        keys,
    };
    let reconciler = Autoscalers {
        source,
        autoscalers: autoscalers.store().clone(),
        by_target: by_target.clone(),
        targets: targets.store().clone(),
        latest,
        memory: Mutex::default(),
        origin: Instant::now(),
        clock,
    };
    let asked = || Watch::of(&autoscalers).when(changed::generation());
    let scaled = Watch::of(&targets).when(changed::value(Target::replicas));
    manager.add(
        Controller::builder("autoscaler")
            .for_(asked())
            // When one goes, it is another's turn.
            .watches_by(asked(), &by_target, |one| [target(one).to_string()])
            .watches_by(scaled, &by_target, |target| {
                [target.metadata().key().to_string()]
            })
            .receives(pushed)
            // Most of the time they wait for the source.
            .concurrency(8)
            .reconciler(reconciler),
    )?;
    Ok(push)
}

impl<S: Source> Reconciler for Autoscalers<S> {
    async fn reconcile(&self, context: &Context, key: &ObjectKey) -> ReconcileResult {
        let there = self.autoscalers.get(key);
        let Some(autoscaler) = there.filter(|one| !one.metadata.is_terminating()) else {
            self.forget(key);
            return Ok(Outcome::Done);
        };
        let target = match self.find_target(&autoscaler) {
            Ok(target) => target,
            Err(why) => {
                // Whatever ends it is an event. The source has a rest meanwhile.
                self.forget(key);
                let now = self.clock.now();
                let inactive = |one: &mut Autoscaler| status::inactive(one, &why, now);
                context.write_status(&*autoscaler, inactive).await?;
                return Ok(Outcome::Done);
            }
        };
        let spec = &autoscaler.spec;
        let read = self.read(key, &autoscaler).await;
        let asked = read
            .as_ref()
            .map(|(reading, _)| window::pods(reading.value(), spec.per_pod, spec.min, spec.max));
        let current = target.replicas();
        let wanted = self.decide(key, &autoscaler, current, asked.ok());
        if wanted != current {
            self.scale(context, key, &target, wanted).await?;
            let about = ObjectReference::of(&*autoscaler);
            let message = format!("{} from {current} to {wanted}", autoscaler.spec.deployment);
            let recorder = context.recorder();
            recorder.event(&about, EventType::Normal, "Scaled", &message);
        }
        let asked = asked.map_err(ToString::to_string);
        let (scaled, now) = (wanted != current, self.clock.now());
        let active = |one: &mut Autoscaler| status::active(one, wanted, asked, scaled, now);
        context.write_status(&*autoscaler, active).await?;
        match read {
            Ok((_, holds)) => Ok(Outcome::After(holds)),
            Err(error) => Err(ReconcileError::transient_after(AFTER_FAILURE, error)),
        }
    }
}

impl<S: Source> Autoscalers<S> {
    fn find_target(&self, autoscaler: &Autoscaler) -> Result<Arc<Target>, Inactive> {
        let key = target(autoscaler);
        let all = self.autoscalers.by_index(&self.by_target, &key.to_string());
        let first = all.iter().min_by_key(|one| {
            let created = one.metadata.creation_timestamp();
            (created, one.metadata.name.clone())
        });
        if let Some(first) = first.filter(|first| first.metadata.name != autoscaler.metadata.name) {
            return Err(Inactive::Taken(first.metadata.name().to_owned()));
        }
        let target = self.targets.get(&key).ok_or(Inactive::NoTarget)?;
        match target.replicas() {
            0 => Err(Inactive::ScaledToZero),
            _ => Ok(target),
        }
    }

    /// The number to go by, and how long it holds: the last that was sent, while it is fresh, or
    /// else what the source says.
    async fn read(
        &self,
        key: &ObjectKey,
        autoscaler: &Autoscaler,
    ) -> Result<(Reading, Duration), SourceError> {
        let interval = Duration::from_secs(autoscaler.spec.interval_seconds.into());
        if let Some((sent, reading)) = self.latest.of(key)
            && let Some(left) = interval.checked_sub(sent.elapsed())
            && !left.is_zero()
        {
            return Ok((reading, left));
        }
        let answer = self.source.read(&autoscaler.spec.metric);
        match tokio::time::timeout(SLOWEST, answer).await {
            Ok(answer) => Ok((answer?, interval)),
            Err(_) => Err(SourceError::Slow(SLOWEST)),
        }
    }

    /// How many pods there shall be. Without a number no more and no fewer, but within the bounds.
    fn decide(
        &self,
        key: &ObjectKey,
        autoscaler: &Autoscaler,
        current: i32,
        asked: Option<i32>,
    ) -> i32 {
        let spec = &autoscaler.spec;
        let now = Moment::from(self.origin.elapsed());
        let span = Duration::from_secs(spec.stabilization_seconds.into());
        let mut all = self.memory.lock();
        let memory = all.entry(key.clone()).or_default();
        if memory.left != Some(current) {
            // Somebody else has scaled it, or it is new here: that has to do no longer for the
            // whole span before it is undone.
            memory.window.note(now, current);
        }
        let wanted = match asked {
            Some(asked) => {
                memory.window.note(now, asked);
                memory.window.most(now, span).unwrap_or(asked)
            }
            None => current,
        };
        memory.left = Some(current);
        window::within(wanted, spec.min, spec.max)
    }

    /// Writes the scale of the target as it was seen. If somebody has scaled it meanwhile, to 0
    /// perhaps, it is a conflict.
    async fn scale(
        &self,
        context: &Context,
        key: &ObjectKey,
        target: &Target,
        replicas: i32,
    ) -> Result<(), ReconcileError> {
        let meta = target.metadata();
        let place = meta.namespace().unwrap_or_default();
        let scale = Scale {
            metadata: ObjectMeta {
                name: Some(meta.name().to_owned()),
                namespace: Some(place.to_owned()),
                uid: meta.uid().map(str::to_owned),
                resource_version: meta.resource_version().map(|version| version.to_string()),
                ..ObjectMeta::default()
            },
            spec: Some(ScaleSpec {
                replicas: Some(replicas),
            }),
            status: None,
        };
        context
            .update_subresource::<Deployment, _>(meta, "scale", &scale)
            .await?;
        let mut all = self.memory.lock();
        all.entry(key.clone()).or_default().left = Some(replicas);
        Ok(())
    }

    fn forget(&self, key: &ObjectKey) {
        self.memory.lock().remove(key);
        self.latest.forget(key);
    }
}

/// The Deployment that it is for.
fn target(autoscaler: &Autoscaler) -> ObjectKey {
    let namespace = autoscaler.metadata.namespace.as_deref();
    ObjectKey::new(namespace, &autoscaler.spec.deployment)
}
