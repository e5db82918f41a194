use evenkeel_meta::{DynamicObject, MetaView, Object, Uid};
use serde_json::Value;

use super::Verdict;

/// It is there.
pub fn is_present<K>() -> impl Fn(Option<&K>) -> bool + Send + Sync {
    |state| state.is_some()
}

/// The object with this UID is gone. One of the same name that came after it is another one.
///
/// ```
/// # async fn example(
/// #     pods: &evenkeel_client::Api<evenkeel_meta::DynamicObject>,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// use evenkeel_client::wait::is_deleted;
/// use evenkeel_meta::DeleteOptions;
///
/// let web = pods.get("web").await?;
/// pods.delete("web", &DeleteOptions::default()).await?;
/// pods.wait_for("web", is_deleted(web.metadata.uid.unwrap_or_default())).await?;
/// # Ok(())
/// # }
/// ```
pub fn is_deleted<K: Object>(uid: Uid) -> impl Fn(Option<&K>) -> bool + Send + Sync {
    move |state| state.is_none_or(|object| object.metadata().uid() != Some(uid.as_str()))
}

/// A condition of `status.conditions` has this status, such as `Ready` and `True`.
///
/// A condition that speaks of an older generation than the object's says nothing yet.
pub fn condition_is(
    kind: impl Into<String>,
    status: impl Into<String>,
) -> impl Fn(Option<&DynamicObject>) -> bool + Send + Sync {
    let (kind, status) = (kind.into(), status.into());
    move |state| {
        let condition = state.and_then(|object| Condition::of(object, &kind));
        condition.is_some_and(|condition| condition.status == status)
    }
}

/// A CustomResourceDefinition is served: it is established. If its names are taken by
/// another one, it never will be.
pub fn is_established() -> impl Fn(Option<&DynamicObject>) -> Verdict + Send + Sync {
    |state| {
        let Some(definition) = state else {
            return Verdict::NotYet;
        };
        if let Some(names) = Condition::of(definition, "NamesAccepted")
            && names.status == "False"
        {
            return Verdict::Never(format!("its names are not accepted: {}", names.message));
        }
        let established = Condition::of(definition, "Established");
        established
            .is_some_and(|condition| condition.status == "True")
            .into()
    }
}

/// One of `status.conditions`.
struct Condition<'a> {
    status: &'a str,
    message: &'a str,
}

impl<'a> Condition<'a> {
    fn of(object: &'a DynamicObject, kind: &str) -> Option<Self> {
        let all = object.data.get("status")?.get("conditions")?.as_array()?;
        let own = all
            .iter()
            .find(|condition| condition.get("type").and_then(Value::as_str) == Some(kind))?;
        let observed = own.get("observedGeneration").and_then(Value::as_i64);
        if observed < object.metadata.generation && observed.is_some() {
            return None;
        }
        let text = |name| own.get(name).and_then(Value::as_str).unwrap_or_default();
        Some(Self {
            status: text("status"),
            message: text("message"),
        })
    }
}
