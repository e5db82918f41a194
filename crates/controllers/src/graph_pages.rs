//! The collector's graph for debugging, where kube-controller-manager has it (contracts gc G49, G50).

use std::sync::Arc;

use evenkeel::{DebugPage, DebugPages};
use evenkeel_gc::Inspector;
use parking_lot::Mutex;

use crate::Name;

/// The collector that runs, if one does: it lives for a term of leadership.
#[derive(Clone, Default)]
pub(crate) struct Current(Arc<Mutex<Option<Inspector>>>);

/// Takes the collector away when its term ends, however it does.
pub(crate) struct Running(Current);

impl Current {
    pub(crate) fn set(&self, inspector: Inspector) -> Running {
        *self.0.lock() = Some(inspector);
        Running(self.clone())
    }

    fn get(&self) -> Option<Inspector> {
        self.0.lock().clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        *self.0.0.lock() = None;
    }
}

/// Adds the page under the name of today and the older one.
///
/// Each `uid=` in the query asks for what is connected to that object; `format=json` for data
/// instead of DOT. It is 404 while no collector runs here.
pub(crate) fn add(pages: &DebugPages, current: &Current) {
    let name = Name::GarbageCollector;
    for name in [name.as_str(), name.alias()] {
        let current = current.clone();
        pages.add(format!("/debug/controllers/{name}/graph"), move |query| {
            Some(render(&current.get()?, query))
        });
    }
}

fn render(inspector: &Inspector, query: &str) -> DebugPage {
    let fields = || query.split('&').filter_map(|field| field.split_once('='));
    let uids: Vec<&str> = fields()
        .filter(|(name, _)| *name == "uid")
        .map(|(_, uid)| uid)
        .collect();
    let graph = inspector.export(&uids);
    if fields().any(|field| field == ("format", "json")) {
        DebugPage {
            content_type: "application/json",
            body: graph.to_json(),
        }
    } else {
        DebugPage {
            content_type: "text/vnd.graphviz",
            body: graph.to_dot(),
        }
    }
}
