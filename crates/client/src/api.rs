//! Typed access to one resource.

mod delete;
mod pages;
mod read;
mod subresource;
#[cfg(test)]
mod tests;
mod write;

pub use self::delete::Deleted;
pub use self::subresource::Subresource;

use std::marker::PhantomData;
use std::sync::Arc;

use evenkeel_meta::{ApiResource, DynamicObject, Metadata, Scope};
use http::{HeaderValue, Method};

use crate::client::{Client, Outgoing, Subject};
use crate::error::RequestError;
use crate::managed_fields::ManagedFields;
use crate::query::{Query, escape_into};
use crate::reading::Reading;
use crate::transport::Lane;

/// One resource, in one namespace or in all, decoded as `K`.
///
/// The type parameter decides what is decoded: a type of five fields costs five fields.
/// Reading needs `K: Object + DeserializeOwned`; creating and updating need a type that
/// carries every field ([`Complete`](evenkeel_meta::Complete)), since a PUT of a projection
/// would delete what it does not carry. Cloning is cheap.
pub struct Api<K> {
    client: Client,
    resource: Arc<ApiResource>,
    namespace: Option<Arc<str>>,
    view: View,
    /// Completes an object that was decoded out of a list.
    adopt: fn(&mut K, &ApiResource),
    reading: Reading,
    kind: PhantomData<fn() -> K>,
}

/// What the server is asked to send of each object.
#[derive(Clone, Copy)]
enum View {
    Whole,
    Metadata,
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Plain JSON comes last: a server that knows no metadata-only answers sends whole objects,
/// of which only the metadata is decoded (client-go DY2).
const METADATA: HeaderValue = HeaderValue::from_static(
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
);
const METADATA_LIST: HeaderValue = HeaderValue::from_static(
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
);

impl View {
    fn accept(self) -> HeaderValue {
        match self {
            Self::Whole => JSON,
            Self::Metadata => METADATA,
        }
    }

    fn accept_list(self) -> HeaderValue {
        match self {
            Self::Whole => JSON,
            Self::Metadata => METADATA_LIST,
        }
    }
}

impl<K> Api<K> {
    fn new(
        client: Client,
        resource: ApiResource,
        namespace: Option<&str>,
        view: View,
        adopt: fn(&mut K, &ApiResource),
    ) -> Self {
        let namespaced = resource.scope == Scope::Namespaced;
        Self {
            client,
            resource: Arc::new(resource),
            namespace: namespace.filter(|_| namespaced).map(Arc::from),
            view,
            adopt,
            reading: Reading::default(),
            kind: PhantomData,
        }
    }

    pub(crate) fn typed(client: Client, resource: ApiResource, namespace: Option<&str>) -> Self {
        Self::new(client, resource, namespace, View::Whole, |_, _| {})
    }

    /// The same resource in another namespace. Nothing changes for a cluster-scoped one.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Self {
        let mut api = self.clone();
        if self.resource.scope == Scope::Namespaced {
            api.namespace = Some(namespace.into());
        }
        api
    }

    /// The same resource in every namespace.
    #[must_use]
    pub fn in_all_namespaces(&self) -> Self {
        let mut api = self.clone();
        api.namespace = None;
        api
    }

    /// The same resource through another client, such as one with another field manager.
    #[must_use]
    pub fn with_client(&self, client: Client) -> Self {
        let mut api = self.clone();
        api.client = client;
        api
    }

    /// The same, but what is listed page by page and watched comes without
    /// `metadata.managedFields`: they are cut out of the text before it is decoded.
    ///
    /// For caches, whose readers seldom ask who set a field. A PUT of such an object leaves the
    /// server's `managedFields` as they are.
    #[must_use]
    pub fn without_managed_fields(&self) -> Self {
        let mut api = self.clone();
        api.reading.managed_fields = ManagedFields::Cut;
        api
    }

    /// The same, but what is listed page by page and watched has `Vec`s as long as what they hold.
    ///
    /// A `Vec` that is decoded from text as it comes has room for more elements than it has, which for
    /// structures as large as containers and volumes is a quarter of a pod's memory. For caches of whole
    /// objects; each sequence's text is looked at twice more, which made the first list of 100,000 pods cost
    /// a twentieth more CPU (docs/COMPARE.md).
    #[must_use]
    pub fn with_exact_capacities(&self) -> Self {
        let mut api = self.clone();
        api.reading.is_exact = true;
        api
    }

    /// The resource.
    #[must_use]
    pub fn resource(&self) -> &ApiResource {
        &self.resource
    }

    /// The namespace; `None` for all of them and for cluster-scoped resources.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The client behind it.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// A subresource such as `scale`, `eviction` or `binding`, whose bodies are of type `T`.
    #[must_use]
    pub fn subresource<T>(&self, subresource: &str) -> Subresource<T> {
        Subresource::new(self.clone_as(), subresource)
    }

    fn clone_as<T>(&self) -> Api<T> {
        Api {
            client: self.client.clone(),
            resource: Arc::clone(&self.resource),
            namespace: self.namespace.clone(),
            view: View::Whole,
            adopt: |_, _| {},
            reading: self.reading,
            kind: PhantomData,
        }
    }

    pub(crate) fn subject(&self, verb: &'static str, name: &str) -> Subject {
        Subject::new(verb, &self.resource, name)
    }

    /// The namespace to address; `given` is that of an object, and overrides none. An object that names an
    /// empty one names none.
    fn chosen<'a>(&'a self, given: Option<&'a str>) -> Result<Option<&'a str>, RequestError> {
        let given = given.filter(|given| !given.is_empty());
        let own = self.namespace.as_deref();
        let only = self.client.options().only_namespace.as_deref();
        let (Some(only), Scope::Namespaced) = (only, self.resource.scope) else {
            return Ok(own.or(given));
        };
        match [own, given].into_iter().flatten().find(|one| *one != only) {
            None => Ok(Some(only)),
            Some(other) => Err(RequestError::OtherNamespace {
                resource: self.resource.to_string(),
                namespace: other.to_owned(),
                only: only.to_owned(),
            }),
        }
    }

    /// The path of the collection; `namespace` overrides none.
    fn collection(&self, namespace: Option<&str>) -> Result<Query, RequestError> {
        let namespace = self.chosen(namespace)?;
        let checked = namespace.map(|ns| segment("namespace", ns)).transpose()?;
        Ok(Query::new(
            self.resource.collection_path(checked.as_deref()),
        ))
    }

    /// The path of one object, or of a subresource of it.
    pub(crate) fn object(
        &self,
        namespace: Option<&str>,
        name: &str,
        subresource: Option<&str>,
    ) -> Result<Query, RequestError> {
        let namespace = self.chosen(namespace)?;
        if namespace.is_none() && self.resource.scope == Scope::Namespaced {
            return Err(RequestError::NamespaceRequired {
                resource: self.resource.to_string(),
            });
        }
        let checked = namespace.map(|ns| segment("namespace", ns)).transpose()?;
        let name = segment("name", name)?;
        let mut path = self.resource.object_path(checked.as_deref(), &name);
        if let Some(subresource) = subresource {
            path.push('/');
            path.push_str(&segment("subresource", subresource)?);
        }
        Ok(Query::new(path))
    }

    fn write_request(&self, method: Method, target: Query, subject: Subject) -> Outgoing {
        Outgoing::new(Lane::Write, method, target.finish(), subject).accept(self.view.accept())
    }
}

impl Api<DynamicObject> {
    pub(crate) fn dynamic(client: Client, resource: ApiResource, ns: Option<&str>) -> Self {
        Self::new(client, resource, ns, View::Whole, |object, resource| {
            if object.types.kind.is_empty() {
                object.types.api_version = resource.api_version().into_owned();
                object.types.kind = resource.kind.clone().into_owned();
            }
        })
    }
}

impl Api<Metadata> {
    pub(crate) fn metadata(client: Client, resource: ApiResource, ns: Option<&str>) -> Self {
        Self::new(client, resource, ns, View::Metadata, |_, _| {})
    }
}

impl<K> Clone for Api<K> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            resource: Arc::clone(&self.resource),
            namespace: self.namespace.clone(),
            view: self.view,
            adopt: self.adopt,
            reading: self.reading,
            kind: PhantomData,
        }
    }
}

impl<K> std::fmt::Debug for Api<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api")
            .field("resource", &format_args!("{}", self.resource))
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// A path segment: refused if it could change the path (client-go RC8), escaped where a URI
/// needs it.
fn segment<'a>(
    what: &'static str,
    value: &'a str,
) -> Result<std::borrow::Cow<'a, str>, RequestError> {
    let reason = match value {
        "" => "is empty",
        "." | ".." => "is a relative path",
        _ if value.contains(['/', '%']) => "contains '/' or '%'",
        _ => {
            let plain =
                |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:@!$&'()*+,;=".contains(&byte);
            if value.bytes().all(plain) {
                return Ok(value.into());
            }
            let mut escaped = String::with_capacity(value.len() + 8);
            escape_into(&mut escaped, value, plain);
            return Ok(escaped.into());
        }
    };
    Err(RequestError::InvalidPathSegment {
        what,
        value: value.into(),
        reason,
    })
}
