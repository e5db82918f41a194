//! Parts of the schemas of custom resources.

use schemars::{Schema, SchemaGenerator, json_schema};

/// The schema of `status.conditions`, for the field of a `#[derive(JsonSchema)]` type: one condition of
/// each type, so that several controllers may apply their own, with the limits that API conventions set
/// (`metav1.Condition`). Deriving it from k8s-openapi's type takes the schemas of all of Kubernetes.
///
/// ```
/// use evenkeel_meta::{Condition, schema};
/// use schemars::JsonSchema;
///
/// #[derive(JsonSchema)]
/// struct CacheStatus {
///     #[schemars(schema_with = "schema::conditions")]
///     conditions: Vec<Condition>, // or of k8s-openapi's type
/// }
/// let schema = schemars::schema_for!(CacheStatus);
/// let list = &schema.as_value()["properties"]["conditions"];
/// assert_eq!(list["x-kubernetes-list-map-keys"][0], "type");
/// ```
#[must_use]
pub fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "reason", "message", "lastTransitionTime"],
            "properties": {
                "type": {
                    "type": "string",
                    "maxLength": 316,
                    "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                },
                "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                "reason": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1024,
                    "pattern": r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "message": {"type": "string", "maxLength": 32768},
                "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
                "lastTransitionTime": {"type": "string", "format": "date-time"},
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The markers of `metav1.Condition`.
    #[test]
    fn conditions_have_the_limits_of_api_conventions() {
        let list = conditions(&mut SchemaGenerator::default()).to_value();
        assert_eq!(list["x-kubernetes-list-type"], "map");
        let item = &list["items"];
        let required = ["type", "status", "reason", "message", "lastTransitionTime"];
        assert_eq!(item["required"], json!(required));
        let of = &item["properties"];
        assert_eq!(of["type"]["maxLength"], 316);
        assert_eq!(of["status"]["enum"], json!(["True", "False", "Unknown"]));
        assert_eq!(of["reason"]["minLength"], 1);
        assert_eq!(of["reason"]["maxLength"], 1024);
        assert_eq!(
            of["reason"]["pattern"],
            "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
        );
        assert_eq!(of["message"]["maxLength"], 32768);
        assert_eq!(of["observedGeneration"]["minimum"], 0);
        assert_eq!(of["lastTransitionTime"]["format"], "date-time");
    }
}
