//! How far a rolling update may go over and under the wanted number (contract kcm D6).

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// A Deployment's numbers, resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Wanted pods.
    pub(crate) replicas: i32,
    /// How many pods there may be beyond that.
    pub(crate) max_surge: i32,
    /// How many pods may be missing.
    pub(crate) max_unavailable: i32,
    /// Whether the old pods must be gone before new ones are made.
    pub(crate) recreate: bool,
}

impl Limits {
    pub(crate) fn of(deployment: &Deployment) -> Self {
        let spec = &deployment.spec;
        let replicas = spec.replicas.unwrap_or(1);
        let strategy = spec.strategy.as_ref();
        if strategy.is_some_and(|strategy| strategy.type_.as_deref() == Some("Recreate")) {
            return Self {
                replicas,
                max_surge: 0,
                max_unavailable: 0,
                recreate: true,
            };
        }
        let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
        let surge = rolling.and_then(|rolling| rolling.max_surge.as_ref());
        let unavailable = rolling.and_then(|rolling| rolling.max_unavailable.as_ref());
        let max_surge = resolve(surge, replicas, Rounding::Up);
        let mut max_unavailable = resolve(unavailable, replicas, Rounding::Down);
        // Percentages of a small number may both come to nothing; an update could never move.
        if max_surge == 0 && max_unavailable == 0 {
            max_unavailable = 1;
        }
        Self {
            replicas,
            max_surge,
            max_unavailable: max_unavailable.min(replicas),
            recreate: false,
        }
    }

    /// The most pods that may exist at once.
    pub(crate) fn max_total(self) -> i32 {
        self.replicas.saturating_add(self.max_surge)
    }

    /// The fewest pods that must be available.
    pub(crate) fn min_available(self) -> i32 {
        self.replicas - self.max_unavailable
    }
}

#[derive(Clone, Copy)]
enum Rounding {
    Up,
    Down,
}

/// A number as it is, a percentage of `total`; what the API server would refuse counts as 25 %.
fn resolve(value: Option<&IntOrString>, total: i32, rounding: Rounding) -> i32 {
    let percent = match value {
        Some(IntOrString::Int(number)) => return (*number).max(0),
        Some(IntOrString::String(text)) => {
            text.strip_suffix('%').and_then(|p| p.parse::<i64>().ok())
        }
        None => None,
    };
    let share = percent.unwrap_or(25).max(0) * i64::from(total);
    let rounded = match rounding {
        Rounding::Up => (share + 99) / 100,
        Rounding::Down => share / 100,
    };
    i32::try_from(rounded).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(strategy: &serde_json::Value, replicas: i32) -> Limits {
        let deployment = serde_json::from_value(serde_json::json!({
            "metadata": {},
            "spec": {"replicas": replicas, "strategy": strategy, "selector": {}, "template": {}},
        }));
        Limits::of(&deployment.unwrap())
    }

    #[test]
    fn kcm_d6_surge_rounds_up_and_unavailable_down() {
        let rolling = |surge: serde_json::Value, unavailable: serde_json::Value, replicas| {
            let limits = limits(
                &serde_json::json!({"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}),
                replicas,
            );
            (limits.max_surge, limits.max_unavailable)
        };
        assert_eq!(rolling("25%".into(), "25%".into(), 10), (3, 2));
        assert_eq!(
            rolling("0%".into(), "1%".into(), 4),
            (0, 1),
            "both resolve to 0"
        );
        assert_eq!(
            rolling(0.into(), 3.into(), 2),
            (0, 2),
            "never more than there are"
        );
        assert_eq!(rolling(2.into(), 0.into(), 4), (2, 0));
        assert_eq!(limits(&serde_json::Value::Null, 10).max_total(), 13);
        assert_eq!(limits(&serde_json::Value::Null, 10).min_available(), 8);
    }

    #[test]
    fn kcm_d10_recreate_has_neither() {
        let limits = limits(&serde_json::json!({"type": "Recreate"}), 4);
        assert!(limits.recreate);
        assert_eq!((limits.max_total(), limits.min_available()), (4, 4));
    }
}
