//! How the program fails: what it says and which code it exits with.

use std::process::ExitCode;

use evenkeel::ManagerError;

/// Why the program ends with a code other than 0.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The call makes no sense: exit code 2.
    Usage(String),
    /// What was asked for did not work: exit code 1. A line a fault.
    Failed(Vec<String>),
    /// A command that was run ended with this code, and has said why.
    Exit(u8),
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "both are handed to `map_err` as they are"
)]
impl Failure {
    pub(crate) fn usage(message: impl ToString) -> Self {
        Self::Usage(message.to_string())
    }

    pub(crate) fn failed(message: impl ToString) -> Self {
        Self::Failed(vec![message.to_string()])
    }

    /// What to print, each fault on one line.
    pub(crate) fn lines(&self) -> Vec<String> {
        match self {
            Self::Usage(message) => vec![one_line(message), "see evenkeel --help".to_owned()],
            Self::Exit(_) => Vec::new(),
            Self::Failed(faults) => faults.iter().map(|fault| one_line(fault)).collect(),
        }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Failed(_) => ExitCode::FAILURE,
            Self::Exit(code) => ExitCode::from(*code),
        }
    }
}

/// The whole chain of causes on one line. What makes no election is a matter of flags.
impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        let text = chain(&error);
        match error.downcast_ref() {
            Some(ManagerError::Election(_)) => Self::Usage(text),
            _ => Self::failed(text),
        }
    }
}

/// The texts of an error and its causes, without causes that the text before them quotes already.
fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// Servers send messages of several lines; a fault is one line here. What it quotes may hold
/// control characters, which are for no terminal to obey.
pub(crate) fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut line = String::with_capacity(text.len());
    for character in lines.collect::<Vec<_>>().join("; ").chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_one_line_with_its_causes() {
        let error = anyhow::anyhow!("no such file")
            .context("cannot read a: no such file")
            .context("cannot start");
        let lines = Failure::from(error).lines();
        assert_eq!(lines, ["cannot start: cannot read a: no such file"]);
        assert_eq!(one_line("a:\n  b\n\nc\n"), "a:; b; c");
        assert_eq!(one_line("name \u{1b}[31mred"), "name \\u{1b}[31mred");
    }
}
