//! The path grammar of the API.

use std::borrow::Cow;

use super::query::unescape;

/// What a path addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    /// `/api`
    CoreVersions,
    /// `/apis`
    Groups,
    /// `/apis/{group}`
    Group(Cow<'a, str>),
    /// `/api/v1`, `/apis/{group}/{version}`
    GroupVersion(Cow<'a, str>, Cow<'a, str>),
    /// A collection, an object or a subresource.
    Resource(Address<'a>),
    /// Everything else: health, version, OpenAPI.
    Other,
}

/// A collection, an object or a subresource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address<'a> {
    pub(crate) group: Cow<'a, str>,
    pub(crate) version: Cow<'a, str>,
    pub(crate) namespace: Option<Cow<'a, str>>,
    pub(crate) resource: Cow<'a, str>,
    pub(crate) name: Option<Cow<'a, str>>,
    pub(crate) subresource: Option<Cow<'a, str>>,
}

/// Splits `path`. `None` when it has too many segments for any resource.
pub(crate) fn route(path: &str) -> Option<Route<'_>> {
    let segments: Vec<Cow<'_, str>> = path
        .split('/')
        .filter(|segment| !segment.is_empty())
        .map(|segment| unescape(segment, false))
        .collect();
    let mut rest = segments.into_iter();
    match rest.next().as_deref() {
        Some("api") => match rest.next() {
            None => Some(Route::CoreVersions),
            Some(version) => below_version("".into(), version, rest.collect()),
        },
        Some("apis") => match (rest.next(), rest.next()) {
            (None, _) => Some(Route::Groups),
            (Some(group), None) => Some(Route::Group(group)),
            (Some(group), Some(version)) => below_version(group, version, rest.collect()),
        },
        _ => Some(Route::Other),
    }
}

fn below_version<'a>(
    group: Cow<'a, str>,
    version: Cow<'a, str>,
    mut rest: Vec<Cow<'a, str>>,
) -> Option<Route<'a>> {
    if rest.is_empty() {
        return Some(Route::GroupVersion(group, version));
    }
    // `namespaces/x/status` is a subresource of the namespace, `namespaces/x/pods` is a
    // collection inside it.
    let inside_namespace =
        rest.len() > 2 && rest[0] == "namespaces" && !matches!(&*rest[2], "status" | "finalize");
    let namespace = if inside_namespace {
        rest.remove(0);
        Some(rest.remove(0))
    } else {
        None
    };
    let mut rest = rest.into_iter();
    let resource = rest.next()?;
    let (name, subresource) = (rest.next(), rest.next());
    if rest.next().is_some() {
        return None;
    }
    Some(Route::Resource(Address {
        group,
        version,
        namespace,
        resource,
        name,
        subresource,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(
        path: &str,
    ) -> (
        String,
        Option<String>,
        String,
        Option<String>,
        Option<String>,
    ) {
        let Some(Route::Resource(address)) = route(path) else {
            panic!("{path} is no resource")
        };
        let own = |part: Option<Cow<'_, str>>| part.map(Cow::into_owned);
        (
            format!("{}/{}", address.group, address.version),
            own(address.namespace),
            address.resource.into_owned(),
            own(address.name),
            own(address.subresource),
        )
    }

    #[test]
    fn paths_name_their_parts() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            address("/api/v1/pods"),
            ("/v1".into(), None, "pods".into(), None, None)
        );
        assert_eq!(
            address("/api/v1/namespaces/n/pods/p/status"),
            (
                "/v1".into(),
                some("n"),
                "pods".into(),
                some("p"),
                some("status")
            )
        );
        assert_eq!(
            address("/api/v1/namespaces/n/finalize"),
            (
                "/v1".into(),
                None,
                "namespaces".into(),
                some("n"),
                some("finalize")
            )
        );
        assert_eq!(
            address("/api/v1/namespaces/n"),
            ("/v1".into(), None, "namespaces".into(), some("n"), None)
        );
        assert_eq!(
            address("/apis/apps/v1/namespaces/n/deployments"),
            (
                "apps/v1".into(),
                some("n"),
                "deployments".into(),
                None,
                None
            )
        );
        assert_eq!(route("/apis"), Some(Route::Groups));
        assert_eq!(
            route("/api/v1"),
            Some(Route::GroupVersion("".into(), "v1".into()))
        );
        assert_eq!(route("/healthz"), Some(Route::Other));
        assert_eq!(route("/api/v1/namespaces/n/pods/p/a/b"), None);
    }
}
