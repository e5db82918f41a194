//! Which field an API server complains about.

use evenkeel_meta::Status;

/// The path of the first field at fault, such as `spec.replicas`; empty when the answer names
/// none. Answers to invalid objects name it in their details, all others in their text only.
pub(super) fn field(status: &Status) -> String {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let mut named = causes
        .map(|cause| cause.field.as_str())
        .filter(|field| !field.is_empty());
    named
        .next()
        .or_else(|| in_quotes(&status.message))
        .or_else(|| in_struct(&status.message))
        .or_else(|| with_dot(&status.message))
        .unwrap_or_default()
        .trim_start_matches('.')
        .to_owned()
}

/// `unknown field "spec.foo"`, `duplicate field "spec.foo"`.
fn in_quotes(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("field \"")?;
    rest.split_once('"').map(|(field, _)| field)
}

/// `Go struct field DeploymentSpec.spec.replicas of type int32`: the type comes first.
fn in_struct(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("Go struct field ")?;
    let (field, _) = rest.split_once(' ')?;
    field.split_once('.').map(|(_, path)| path)
}

/// `failed to create typed patch object (...): .spec.replicas: expected ...`.
fn with_dot(message: &str) -> Option<&str> {
    let mut words = message.split_whitespace();
    words.find_map(|word| {
        word.strip_suffix(':')
            .filter(|word| word.len() > 1 && word.starts_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use evenkeel_meta::{GroupVersionKind, StatusCause};

    use super::*;

    #[test]
    fn the_field_is_found_in_every_kind_of_answer() {
        for (message, expected) in [
            (
                "failed to create typed patch object (default/a; apps/v1, Kind=Deployment): .spec.replicas: expected numeric (int or float), got string",
                "spec.replicas",
            ),
            (
                "failed to create typed patch object (/a; v1, Kind=B): errors:\n  .data.x: expected string\n  .y: field not declared in schema",
                "data.x",
            ),
            (
                "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: unknown field \"datta\"",
                "datta",
            ),
            (
                "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
                "spec.replicas",
            ),
            ("namespaces \"a\" not found", ""),
        ] {
            assert_eq!(field(&Status::bad_request(message)), expected, "{message}");
        }
        let kind = GroupVersionKind::from_api_version("v1", "Pod");
        let cause = StatusCause {
            field: "spec.containers[0].name".to_owned(),
            ..StatusCause::default()
        };
        assert_eq!(
            field(&Status::invalid(&kind, "a", vec![cause])),
            "spec.containers[0].name"
        );
    }
}
