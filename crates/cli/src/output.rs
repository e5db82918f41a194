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
        let screen = self.0.lock();
        write_stdout(&format!("{}{text}\n{}", screen.erasing(), screen.drawing()));
    }

    /// A fault.
    pub(crate) fn error(&self, text: &str) {
        self.log(format!("error: {text}\n").as_bytes());
    }

    /// Whole lines of log.
    pub(crate) fn log(&self, bytes: &[u8]) {
        let screen = self.0.lock();
        write_stdout(&screen.erasing());
        let _ = std::io::stderr().write_all(bytes);
        write_stdout(&screen.drawing());
    }

    /// Replaces the live view. Lines must fit the terminal's width.
    pub(crate) fn draw(&self, frame: Vec<String>) {
        let mut screen = self.0.lock();
        let erasing = screen.erasing();
        screen.frame = frame;
        write_stdout(&format!("{erasing}{}", screen.drawing()));
    }

    /// Leaves the live view as it stands: nothing is drawn over it any more.
    pub(crate) fn finish(&self) {
        self.0.lock().frame.clear();
    }
}

impl Screen {
    /// Up to the first line of the live view, then clear to the end of the screen.
    fn erasing(&self) -> String {
        match self.frame.len() {
            0 => String::new(),
            lines => format!("\x1b[{lines}F\x1b[J"),
        }
    }

    fn drawing(&self) -> String {
        self.frame.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// One write, so that nobody sees half of it.
fn write_stdout(text: &str) {
    let mut stdout = std::io::stdout();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.flush();
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
