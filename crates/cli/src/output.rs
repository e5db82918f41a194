//! The one place that writes to standard output and standard error.

use std::io::{IsTerminal, Write};
use std::sync::Arc;

use parking_lot::Mutex;

/// Where results, faults, log lines and the live view go. A clone is the same place.
///
/// On a terminal the live view is the last thing on the screen: every other line is put above it.
/// A reader that has gone away (`| head`) ends nothing: what it would not read is dropped.
#[derive(Clone)]
pub(crate) struct Output(Arc<Mutex<Screen>>);

struct Screen {
    is_terminal: bool,
    /// The live view as it stands on the screen.
    frame: Vec<String>,
}

impl Output {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Screen {
            is_terminal: std::io::stdout().is_terminal(),
            frame: Vec::new(),
        })))
    }

    /// Whether there is a terminal to draw a live view on.
    pub(crate) fn is_terminal(&self) -> bool {
        self.0.lock().is_terminal
    }

    /// A line of result.
    pub(crate) fn line(&self, text: &str) {
        self.0.lock().above_frame(|| {
            let _ = writeln!(std::io::stdout(), "{text}");
        });
    }

    /// A fault.
    pub(crate) fn error(&self, text: &str) {
        self.0.lock().above_frame(|| {
            let _ = writeln!(std::io::stderr(), "error: {text}");
        });
    }

    /// Whole lines of log.
    pub(crate) fn log(&self, bytes: &[u8]) {
        self.0.lock().above_frame(|| {
            let _ = std::io::stderr().write_all(bytes);
        });
    }

    /// Replaces the live view. Lines must fit the terminal's width.
    pub(crate) fn draw(&self, frame: Vec<String>) {
        let mut screen = self.0.lock();
        screen.erase();
        screen.frame = frame;
        screen.show();
    }

    /// Leaves the live view as it stands: nothing is drawn over it any more.
    pub(crate) fn finish(&self) {
        self.0.lock().frame.clear();
    }
}

impl Screen {
    fn above_frame(&mut self, write: impl FnOnce()) {
        self.erase();
        write();
        self.show();
    }

    fn erase(&self) {
        if !self.frame.is_empty() {
            // Up to the first line of the view, then clear to the end of the screen.
            let _ = write!(std::io::stdout(), "\x1b[{}F\x1b[J", self.frame.len());
        }
    }

    fn show(&self) {
        let mut text = String::new();
        for line in &self.frame {
            text.push_str(line);
            text.push('\n');
        }
        let mut stdout = std::io::stdout();
        let _ = stdout.write_all(text.as_bytes());
        let _ = stdout.flush();
    }
}

/// The terminal's columns and rows.
pub(crate) fn terminal_size() -> (usize, usize) {
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(std::io::stdout())
        && size.ws_col > 0
        && size.ws_row > 0
    {
        return (usize::from(size.ws_col), usize::from(size.ws_row));
    }
    (80, 24)
}
