use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;

/// Pages below `/debug/`, for people who ask what a running process knows.
///
/// An [`Endpoint`](crate::Endpoint) serves them to its own machine only: they tell names of objects,
/// and nobody is asked who they are. From elsewhere, `kubectl port-forward` leads there.
///
/// Cheap to clone; all clones hold the same pages.
#[derive(Clone, Default)]
pub struct DebugPages(Arc<RwLock<BTreeMap<String, Render>>>);

type Render = Arc<dyn Fn(&str) -> Option<DebugPage> + Send + Sync>;

/// What a page says at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugPage {
    /// The media type of the body.
    pub content_type: &'static str,
    /// The body.
    pub body: String,
}

impl DebugPages {
    /// Adds a page at `path`, or replaces the one that is there.
    ///
    /// `render` is given the query as it was sent, without the question mark. `None` is a 404: the
    /// page has nothing to say now. It is called on a thread where it may take its time.
    pub fn add(
        &self,
        path: impl Into<String>,
        render: impl Fn(&str) -> Option<DebugPage> + Send + Sync + 'static,
    ) {
        self.0.write().insert(path.into(), Arc::new(render));
    }

    /// The page at `path` now. Blocks for as long as the page takes.
    #[must_use]
    pub fn render(&self, path: &str, query: &str) -> Option<DebugPage> {
        let render = self.0.read().get(path).cloned()?;
        render(query)
    }
}

impl fmt::Debug for DebugPages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.read().keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_found_by_its_whole_path_and_may_have_nothing_to_say() {
        let pages = DebugPages::default();
        pages.add("/debug/a", |query| {
            (query != "none").then(|| DebugPage {
                content_type: "text/plain",
                body: query.to_owned(),
            })
        });
        let body = |path, query| pages.clone().render(path, query).map(|page| page.body);
        assert_eq!(body("/debug/a", "x=1").as_deref(), Some("x=1"));
        assert_eq!(body("/debug/a", "none"), None);
        assert_eq!(body("/debug/a/b", ""), None);
        assert_eq!(body("/debug", ""), None);
    }
}
