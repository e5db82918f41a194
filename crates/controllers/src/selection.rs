//! Which controllers run: `--controllers` (contract kcm §3.1).

use std::fmt;

/// A controller of this crate. Names are those of kube-controller-manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Name {
    /// `deployment-controller`
    Deployment,
    /// `replicaset-controller`
    ReplicaSet,
    /// `namespace-controller`
    Namespace,
    /// `serviceaccount-controller`
    ServiceAccount,
    /// `garbage-collector-controller`
    GarbageCollector,
}

impl Name {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Deployment,
        Self::ReplicaSet,
        Self::Namespace,
        Self::ServiceAccount,
        Self::GarbageCollector,
    ];

    /// The canonical name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "deployment-controller",
            Self::ReplicaSet => "replicaset-controller",
            Self::Namespace => "namespace-controller",
            Self::ServiceAccount => "serviceaccount-controller",
            Self::GarbageCollector => "garbage-collector-controller",
        }
    }

    /// The older name, which stays valid.
    #[must_use]
    pub fn alias(self) -> &'static str {
        match self {
            Self::Deployment => "deployment",
            Self::ReplicaSet => "replicaset",
            Self::Namespace => "namespace",
            Self::ServiceAccount => "serviceaccount",
            Self::GarbageCollector => "garbagecollector",
        }
    }

    fn find(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|controller| controller.as_str() == name || controller.alias() == name)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection(Vec<Name>);

/// The list names controllers that do not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} not in the list of known controllers: {}", quote(.unknown), list())]
pub struct UnknownControllers {
    unknown: Vec<String>,
}

fn quote(unknown: &[String]) -> String {
    let quoted: Vec<_> = unknown.iter().map(|name| format!("{name:?}")).collect();
    let verb = if quoted.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", quoted.join(", "))
}

fn list() -> String {
    Name::ALL.map(Name::as_str).join(", ")
}

impl Selection {
    /// Every controller.
    #[must_use]
    pub fn all() -> Self {
        Self(Name::ALL.to_vec())
    }

    /// Reads a list such as `*`, `deployment,replicaset` or `*,-garbagecollector`. The first
    /// item that names a controller decides about it; `*` about all that no item names.
    ///
    /// # Errors
    ///
    /// Names every item that is no controller.
    pub fn parse<'a>(items: impl IntoIterator<Item = &'a str>) -> Result<Self, UnknownControllers> {
        let items: Vec<&str> = items
            .into_iter()
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .collect();
        let mut unknown = Vec::new();
        let mut verdicts: Vec<(Name, bool)> = Vec::new();
        let mut others = false;
        for item in items {
            if item == "*" {
                others = true;
                continue;
            }
            let (name, on) = item
                .strip_prefix('-')
                .map_or((item, true), |name| (name, false));
            match Name::find(name) {
                Some(name) => verdicts.push((name, on)),
                None => unknown.push(name.to_owned()),
            }
        }
        if !unknown.is_empty() {
            return Err(UnknownControllers { unknown });
        }
        let is_on = |name: &Name| {
            let verdict = verdicts.iter().find(|(other, _)| other == name);
            verdict.map_or(others, |(_, on)| *on)
        };
        Ok(Self(Name::ALL.into_iter().filter(is_on).collect()))
    }

    /// Whether a controller is in the set.
    #[must_use]
    pub fn contains(&self, name: Name) -> bool {
        self.0.contains(&name)
    }
}

impl Default for Selection {
    fn default() -> Self {
        Self::all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Vec<Name> {
        Selection::parse(text.split(',')).unwrap().0
    }

    #[test]
    fn the_list_is_read_as_kube_controller_manager_reads_it() {
        assert_eq!(parse("*"), Name::ALL);
        assert_eq!(
            parse("deployment,replicaset-controller"),
            [Name::Deployment, Name::ReplicaSet]
        );
        assert_eq!(parse("*,-garbagecollector").len(), 4);
        assert_eq!(parse("-deployment,*").len(), 4);
        assert_eq!(parse("-deployment,deployment"), []);
        assert_eq!(parse(""), []);
    }

    #[test]
    fn unknown_names_are_refused_by_name() {
        let error = Selection::parse(["service", "*", "-nope"])
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with(r#""service", "nope" are not in the list of known controllers: "#),
            "{error}"
        );
        let error = Selection::parse(["service"]).unwrap_err().to_string();
        assert!(
            error.starts_with(r#""service" is not in the list"#),
            "{error}"
        );
    }
}
