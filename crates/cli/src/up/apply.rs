//! Server-side apply of all objects, each reported as kubectl reports it.

mod place;
mod resolve;

use std::fmt;
use std::time::Duration;

use evenkeel_client::{Client, Error, FieldValidation, PatchOptions};
use evenkeel_meta::{ApiResource, ObjectKey, Scope};
use tokio_util::sync::CancellationToken;

use self::resolve::Served;
use super::cluster::kind_name;
use super::load::Object;
use crate::error::{Failure, one_line};
use crate::output::Output;

/// Owner of the fields that are applied.
const MANAGER: &str = "evenkeel-up";
/// How long the server may take to serve the kinds of definitions that were applied.
const DEFINITIONS: Duration = Duration::from_secs(10);

/// An object that is in the server now.
pub(crate) struct Applied {
    pub(crate) resource: ApiResource,
    pub(crate) key: ObjectKey,
    /// Of the state that was asked for.
    pub(crate) generation: Option<i64>,
}

impl fmt::Display for Applied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = kind_name(&self.resource.group, &self.resource.kind);
        write!(f, "{kind}/{}", self.key.name())?;
        match self.key.namespace() {
            None | Some("default") => Ok(()),
            Some(namespace) => write!(f, " -n {namespace}"),
        }
    }
}

/// Applies all objects: namespaces first, then definitions of kinds, then the rest in the order
/// in which they are written.
///
/// Kinds that are not served are found out before anything is written. After that, an object
/// that is refused keeps no other from being applied; the failure lists every one.
pub(crate) async fn apply(
    client: &Client,
    objects: Vec<Object>,
    namespace: &str,
    output: &Output,
    stop: &CancellationToken,
) -> Result<Vec<Applied>, Failure> {
    if objects.is_empty() {
        return Ok(Vec::new());
    }
    let mut served = Served::discover(client).await?;
    served.check(&objects)?;
    let (namespaces, rest) = objects.into_iter().partition::<Vec<_>, _>(is_namespace);
    let (definitions, rest) = rest
        .into_iter()
        .partition::<Vec<_>, _>(resolve::is_definition);
    let mut run = Run {
        client: client.with_field_manager(MANAGER),
        namespace,
        output,
        total: namespaces.len() + definitions.len() + rest.len(),
        applied: Vec::new(),
        faults: Vec::new(),
    };
    run.apply_all(&served, namespaces, stop).await;
    let any_definitions = !definitions.is_empty();
    run.apply_all(&served, definitions, stop).await;
    if any_definitions && run.faults.is_empty() {
        served.await_kinds(client, &rest, DEFINITIONS).await?;
    }
    run.apply_all(&served, rest, stop).await;
    run.finish()
}

fn is_namespace(object: &Object) -> bool {
    object.api_version == "v1" && object.kind == "Namespace"
}

struct Run<'a> {
    client: Client,
    namespace: &'a str,
    output: &'a Output,
    total: usize,
    applied: Vec<Applied>,
    faults: Vec<String>,
}

impl Run<'_> {
    async fn apply_all(&mut self, served: &Served, objects: Vec<Object>, stop: &CancellationToken) {
        for object in objects {
            let Some(resource) = served.find(&object) else {
                // Its definition was refused, which has been said.
                self.faults.push(format!(
                    "{}: {} is not served",
                    object.origin.place("kind"),
                    describe(&object)
                ));
                continue;
            };
            let applying = self.apply(resource, &object);
            let outcome = tokio::select! {
                outcome = applying => outcome,
                () = stop.cancelled() => return,
            };
            match outcome {
                Ok(applied) => {
                    self.output.line(&format!("{applied} serverside-applied"));
                    self.applied.push(applied);
                }
                Err(error) => self.faults.push(fault(&object, &error)),
            }
        }
    }

    async fn apply(&self, resource: &ApiResource, object: &Object) -> Result<Applied, Error> {
        let namespace = match resource.scope {
            Scope::Cluster => None,
            Scope::Namespaced => Some(object.namespace.as_deref().unwrap_or(self.namespace)),
        };
        let options = PatchOptions::default().field_validation(FieldValidation::Strict);
        let api = self.client.dynamic(resource.clone(), namespace);
        let stored = api.apply(&object.name, &object.value, &options).await?;
        Ok(Applied {
            resource: resource.clone(),
            key: ObjectKey::new(namespace, &object.name),
            generation: stored.metadata.generation,
        })
    }

    /// Nothing half-applied goes unreported.
    fn finish(mut self) -> Result<Vec<Applied>, Failure> {
        let done = self.applied.len();
        if done == self.total {
            return Ok(self.applied);
        }
        let refused = self.faults.len();
        let untried = self.total - done - refused;
        self.faults.push(match (done, untried) {
            (0, 0) => "nothing was applied".to_owned(),
            (done, 0) => format!("{done} of {} objects were applied, {refused} were refused", self.total),
            (done, untried) => format!(
                "stopped: {done} of {} objects were applied, {refused} were refused, {untried} were not tried",
                self.total
            ),
        });
        Err(Failure::Failed(self.faults))
    }
}

fn describe(object: &Object) -> String {
    match &object.namespace {
        Some(namespace) => format!("{} {namespace}/{}", object.kind, object.name),
        None => format!("{} {}", object.kind, object.name),
    }
}

/// What the server has against an object, and where that is written.
fn fault(object: &Object, error: &Error) -> String {
    let (field, message) = match error.status() {
        Some(status) => (place::field(status), one_line(&status.message)),
        None => (String::new(), error.to_string()),
    };
    format!(
        "{}: {}: {message}",
        object.origin.place(&field),
        describe(object)
    )
}
