use http::HeaderMap;
use tracing::Span;

use super::Outgoing;
use crate::transport::Lane;

/// The span of one request, with all its tries.
///
/// Its fields: `method`, `url` (path and query; of commands in pods the path alone, since
/// arguments may be secret), `tries`, `status` and, as the server calls the request in its
/// audit log, `audit_id`.
pub(super) fn span(outgoing: &Outgoing) -> Span {
    let url = match outgoing.lane {
        Lane::Upgrade => outgoing.target.split('?').next().unwrap_or_default(),
        Lane::Watch | Lane::List | Lane::Write => &outgoing.target,
    };
    tracing::debug_span!(
        "kubernetes_request",
        method = %outgoing.method,
        url,
        tries = tracing::field::Empty,
        status = tracing::field::Empty,
        audit_id = tracing::field::Empty,
    )
}

/// Notes an answer in it.
pub(super) fn answered(span: &Span, tries: u32, code: http::StatusCode, headers: &HeaderMap) {
    span.record("tries", tries);
    span.record("status", code.as_u16());
    if let Some(id) = headers.get("audit-id").and_then(|id| id.to_str().ok()) {
        span.record("audit_id", id);
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::{Debug, Write};
    use std::sync::Arc;

    use parking_lot::Mutex;
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use crate::testing::{Answer, Pod, Scripted};

    /// Writes down what spans hold.
    #[derive(Clone, Default)]
    struct Notes(Arc<Mutex<String>>);

    impl Visit for Notes {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            let _ = write!(self.0.lock(), "{field}={value:?} ");
        }
    }

    impl Subscriber for Notes {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.is_span() && metadata.name() == "kubernetes_request"
        }

        fn new_span(&self, span: &Attributes<'_>) -> Id {
            span.record(&mut self.clone());
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, values: &Record<'_>) {
            values.record(&mut self.clone());
        }

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, _: &Event<'_>) {}

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    async fn notes(target: impl AsyncFnOnce(&Scripted), answer: fn(usize) -> Answer) -> String {
        crate::testing::any_thread_may_listen();
        let notes = Notes::default();
        let guard = tracing::subscriber::set_default(notes.clone());
        let server = Scripted::new(move |nth, _| answer(nth));
        target(&server).await;
        drop(guard);
        notes.0.lock().clone()
    }

    #[tokio::test(start_paused = true)]
    async fn the_span_of_a_request_tells_its_url_its_tries_and_the_servers_name_for_it() {
        let get = async |server: &Scripted| {
            let pods = server.client().namespaced::<Pod>("ns");
            pods.get("a").await.unwrap();
        };
        let text = notes(get, |nth| match nth {
            0 => Answer::new(503).header("retry-after", "1"),
            _ => Answer::ok(r#"{"metadata":{"name":"a"}}"#).header("audit-id", "4711"),
        });
        assert_eq!(
            text.await,
            "method=GET url=\"/api/v1/namespaces/ns/pods/a\" tries=1 status=503 \
             tries=2 status=200 audit_id=\"4711\" "
        );
    }

    #[cfg(feature = "ws")]
    #[tokio::test(start_paused = true)]
    async fn the_arguments_of_a_command_are_not_in_the_span() {
        let exec = async |server: &Scripted| {
            let pod = server.client().pod("ns", "a");
            let command = crate::ExecOptions::new(["login", "s3cret"]);
            pod.exec(&command).await.unwrap_err();
        };
        let text = notes(exec, |_| Answer::new(403)).await;
        assert!(text.contains("pods/a/exec\""), "{text}");
        assert!(!text.contains("s3cret"), "{text}");
    }
}
