//! From a path and a method to a verb.

use std::sync::Arc;

use evenkeel_meta::{Reason, Status, StatusDetails};
use futures_util::stream;
use http::Method;
use http::header::USER_AGENT;

use super::{
    Call, create, delete, delete_collection, get, list, patch, reviews, subresources, update, watch,
};
use crate::discovery;
use crate::faults::{Hits, Subject, Verb};
use crate::http::{Address, Body, BodyError, Content, Reply, Request, Route, accept, route};
use crate::resources::{Resource, Subresource};
use crate::server::State;

/// Answers one request.
pub(crate) async fn dispatch(state: &Arc<State>, request: Request) -> Result<Reply, Status> {
    let path = request.path.clone();
    let Some(route) = route(&path) else {
        return Err(unknown_path());
    };
    let Route::Resource(address) = route else {
        return discovery::serve(state, &route, &request);
    };
    if state
        .registry
        .read()
        .version(&address.group, &address.version)
        .is_none()
    {
        return Ok(discovery::not_found());
    }
    let (resource, subresource) = resolve(state, &address)?;
    let verb = verb(&request, &address, &resource, subresource)?;
    let hits = state.faults.hit(&Subject {
        verb,
        resource: &resource.api.plural,
        group: &resource.api.group,
        subresource: address.subresource.as_deref().unwrap_or_default(),
        namespace: address.namespace.as_deref(),
        user_agent: request
            .headers
            .get(USER_AGENT)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default(),
    });
    suffer(&hits).await?;
    let lose_answer = hits.lose_answer;
    let deprecation = resource.deprecation.map(str::to_owned);
    let call = Call {
        state: Arc::clone(state),
        projection: accept(&request.headers)?,
        resource,
        namespace: address.namespace.map(std::borrow::Cow::into_owned),
        name: address.name.map(std::borrow::Cow::into_owned),
        subresource,
        request,
        hits,
    };
    let reply = Box::pin(run(verb, call))
        .await
        .map(|reply| reply.warn(deprecation));
    if lose_answer { lost(reply) } else { reply }
}

async fn run(verb: Verb, call: Call) -> Result<Reply, Status> {
    if call
        .subresource
        .is_some_and(|subresource| subresource != Subresource::Status)
    {
        return subresources::run(verb, &call);
    }
    if call.resource.rules.is_question {
        return reviews::answer(&call);
    }
    match verb {
        Verb::Get => get::get(&call).await,
        Verb::List => list::list(&call).await,
        Verb::Watch => watch::watch(call).await,
        Verb::Create => create::create(&call),
        Verb::Update => update::update(&call),
        Verb::Patch => patch::patch(&call),
        Verb::Delete => delete::delete(&call),
        Verb::DeleteCollection => delete_collection::delete_collection(&call),
    }
}

fn resolve(
    state: &State,
    address: &Address<'_>,
) -> Result<(Arc<Resource>, Option<Subresource>), Status> {
    let registry = Arc::clone(&state.registry.read());
    let resource = registry
        .find(&address.group, &address.version, &address.resource)
        .ok_or_else(unknown_path)?;
    // A namespaced object is below its namespace; a cluster-scoped one is below none.
    let misplaced = match &address.namespace {
        Some(_) => !resource.namespaced(),
        None => resource.namespaced() && address.name.is_some(),
    };
    if misplaced {
        return Err(unknown_path());
    }
    let subresource = match address.subresource.as_deref() {
        None => None,
        Some(name) => Some(
            Subresource::parse(name)
                .filter(|&subresource| resource.has(subresource))
                .ok_or_else(unknown_path)?,
        ),
    };
    Ok((Arc::clone(resource), subresource))
}

fn verb(
    request: &Request,
    address: &Address<'_>,
    resource: &Resource,
    subresource: Option<Subresource>,
) -> Result<Verb, Status> {
    let one = address.name.is_some();
    let verb = match (&request.method, one) {
        (&Method::GET, true) => Verb::Get,
        (&Method::GET, false) if request.is_watch() => Verb::Watch,
        (&Method::GET, false) => Verb::List,
        (&Method::POST, one) if one == subresource.is_some() => Verb::Create,
        (&Method::PUT, true) => Verb::Update,
        (&Method::PATCH, true) => Verb::Patch,
        (&Method::DELETE, true) if subresource.is_none() => Verb::Delete,
        (&Method::DELETE, false) if resource.rules.deletable_as_collection => {
            Verb::DeleteCollection
        }
        _ => return Err(not_allowed()),
    };
    if resource.rules.is_question && verb != Verb::Create {
        return Err(not_allowed());
    }
    // Objects of namespaced resources are created inside a namespace.
    if resource.namespaced()
        && address.namespace.is_none()
        && matches!(verb, Verb::Create | Verb::DeleteCollection)
    {
        return Err(not_allowed());
    }
    Ok(verb)
}

/// Lets the faults that come before the request act.
async fn suffer(hits: &Hits) -> Result<(), Status> {
    if !hits.delay.is_zero() {
        tokio::time::sleep(hits.delay).await;
    }
    if hits.hang {
        std::future::pending::<()>().await;
    }
    match &hits.refusal {
        Some(status) => Err(status.clone()),
        None => Ok(()),
    }
}

/// The answer's head with a body that breaks off at once.
fn lost(reply: Result<Reply, Status>) -> Result<Reply, Status> {
    let mut reply = reply?;
    reply.content = Content::Stream(Body::stream(stream::iter([Err(BodyError)])));
    Ok(reply)
}

fn not_allowed() -> Status {
    let mut status = Status::method_not_allowed();
    status.details = Some(StatusDetails::default());
    status
}

/// 404 for a path, not for an object.
pub(crate) fn unknown_path() -> Status {
    let mut status = Status::failure(
        404,
        Reason::NotFound,
        "the server could not find the requested resource",
    );
    status.details = Some(StatusDetails::default());
    status
}
