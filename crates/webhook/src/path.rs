//! Where webhooks are found.

use evenkeel_meta::ApiResource;

/// Where all conversions are, unless another path is chosen.
pub const CONVERT_PATH: &str = "/convert";

/// Where the validating webhook of a kind is: `/validate-<group>-<version>-<kind>`, with dashes for
/// the group's dots and the kind in lower case, as kubebuilder's manifests have it. The core group is
/// empty: `/validate--v1-configmap`.
#[must_use]
pub fn validate_path(resource: &ApiResource) -> String {
    path("validate", resource)
}

/// Where the mutating webhook of a kind is: `/mutate-<group>-<version>-<kind>`.
#[must_use]
pub fn mutate_path(resource: &ApiResource) -> String {
    path("mutate", resource)
}

fn path(what: &str, resource: &ApiResource) -> String {
    let group = resource.group.replace('.', "-");
    let kind = resource.kind.to_lowercase();
    format!("/{what}-{group}-{}-{kind}", resource.version)
}

/// Segments of letters, digits, `-` and `_`.
pub(crate) fn is_valid(path: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    match path.strip_prefix('/') {
        Some("") => true,
        Some(rest) => rest.split('/').all(is_word),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_meta::Resource;
    use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap, networking::v1::Ingress};

    use super::*;

    #[test]
    fn default_paths_are_those_of_kubebuilder() {
        let configmap = validate_path(&ConfigMap::api_resource());
        assert_eq!(configmap, "/validate--v1-configmap");
        let deployment = mutate_path(&Deployment::api_resource());
        assert_eq!(deployment, "/mutate-apps-v1-deployment");
        let ingress = mutate_path(&Ingress::api_resource());
        assert_eq!(ingress, "/mutate-networking-k8s-io-v1-ingress");
    }

    #[test]
    fn paths_of_ones_own_are_checked() {
        for good in ["/", "/a", "/a/b-c_D9", "/validate--v1-configmap"] {
            assert!(is_valid(good), "{good}");
        }
        for bad in ["", "a", "/x y", "/a/", "//", "/a?b", "/ä"] {
            assert!(!is_valid(bad), "{bad}");
        }
    }
}
