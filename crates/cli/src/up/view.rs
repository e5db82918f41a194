//! What becomes of the objects: a live view on a terminal, lines otherwise.

use std::collections::HashMap;
use std::time::Duration;

use super::tree::{self, Branch};
use crate::output::{Output, terminal_size};

/// The least time between two looks: a thousand pods are not sorted a thousand times a second.
const FRAME: Duration = Duration::from_millis(50);
/// The least time between two lines about one object while it is under way.
const LINE: Duration = Duration::from_secs(1);

/// All that is shown.
pub(crate) struct State {
    pub(crate) url: String,
    /// Since the program was started.
    pub(crate) elapsed: Duration,
    pub(crate) leader: Option<String>,
    pub(crate) queued: u64,
    pub(crate) tree: Vec<Branch>,
}

impl State {
    /// The roots that are worth a line: not what waits for the collector after its owner.
    fn free(&self) -> impl Iterator<Item = &Branch> {
        self.tree.iter().filter(|branch| branch.is_free)
    }
}

pub(crate) struct View {
    output: Output,
    is_live: bool,
    /// When the last look was.
    looked: Option<Duration>,
    leader: Option<String>,
    /// What was said last of each root, and when.
    said: HashMap<String, (String, Duration)>,
}

impl View {
    pub(crate) fn new(output: Output) -> Self {
        Self {
            is_live: output.is_terminal(),
            output,
            looked: None,
            leader: None,
            said: HashMap::new(),
        }
    }

    /// Whether the last look was long enough ago.
    pub(crate) fn is_due(&self, elapsed: Duration) -> bool {
        self.looked.is_none_or(|looked| elapsed >= looked + FRAME)
    }

    pub(crate) fn update(&mut self, state: &State) {
        self.looked = Some(state.elapsed);
        if self.is_live {
            self.draw(state);
        } else {
            self.say_leader(state);
            self.say_progress(state);
        }
    }

    /// All that was applied is what it should be.
    pub(crate) fn converged(&mut self, state: &State, objects: usize, is_last: bool) {
        if self.is_live {
            self.draw(state);
        } else {
            self.say_leader(state);
            self.say_settled(state);
            if is_last {
                for line in tree::render(&state.tree) {
                    self.output.line(&line);
                }
            }
        }
        let (all, _) = tree::count(&state.tree);
        let what = match objects {
            0 => "nothing was applied".to_owned(),
            objects => format!("{objects} objects applied"),
        };
        self.output.line(&format!(
            "converged after {:.2} s: {what}, {all} workload objects in the tree",
            state.elapsed.as_secs_f64()
        ));
        if !is_last {
            self.output.line("running until Ctrl-C");
        }
    }

    fn draw(&self, state: &State) {
        let (columns, rows) = terminal_size();
        let head = format!(
            "{}  leader: {}  queued: {}  {:.1} s",
            state.url,
            state.leader.as_deref().unwrap_or("none"),
            state.queued,
            state.elapsed.as_secs_f64()
        );
        let mut lines = vec![head];
        lines.extend(tree::render(&state.tree));
        let room = rows.saturating_sub(2).max(1);
        if lines.len() > room {
            let hidden = lines.len() - room + 1;
            lines.truncate(room - 1);
            lines.push(format!("... {hidden} more lines"));
        }
        let fit = |line: String| match line.char_indices().nth(columns) {
            Some((end, _)) => line[..end].to_owned(),
            None => line,
        };
        self.output.draw(lines.into_iter().map(fit).collect());
    }

    fn say_leader(&mut self, state: &State) {
        if state.leader != self.leader {
            self.leader.clone_from(&state.leader);
            let leader = state.leader.as_deref().unwrap_or("none");
            self.say(state.elapsed, &format!("leader: {leader}"));
        }
    }

    /// The first state of each root, the state when it has settled, and now and then one between.
    fn say_progress(&mut self, state: &State) {
        for branch in state.free() {
            let is_new = match self.said.get(&branch.label) {
                None => true,
                Some((detail, _)) if *detail == branch.detail => false,
                Some((_, at)) => branch.is_settled || state.elapsed >= *at + LINE,
            };
            if is_new {
                self.say_branch(state, branch);
            }
        }
        self.say_gone(state);
    }

    fn say_settled(&mut self, state: &State) {
        for branch in state.free() {
            if self
                .said
                .get(&branch.label)
                .is_none_or(|(detail, _)| *detail != branch.detail)
            {
                self.say_branch(state, branch);
            }
        }
    }

    fn say_branch(&mut self, state: &State, branch: &Branch) {
        let queued = match state.queued {
            0 => String::new(),
            queued => format!(" ({queued} queued)"),
        };
        self.say(
            state.elapsed,
            &format!("{}  {}{queued}", branch.label, branch.detail),
        );
        self.said
            .insert(branch.label.clone(), (branch.detail.clone(), state.elapsed));
    }

    fn say_gone(&mut self, state: &State) {
        let is_there = |label: &String| state.free().any(|branch| branch.label == *label);
        let gone: Vec<_> = self
            .said
            .keys()
            .filter(|label| !is_there(label))
            .cloned()
            .collect();
        for label in gone {
            self.said.remove(&label);
            self.say(state.elapsed, &format!("{label}  gone"));
        }
    }

    fn say(&self, elapsed: Duration, text: &str) {
        self.output
            .line(&format!("[{:6.2} s] {text}", elapsed.as_secs_f64()));
    }
}
