//! One informer of ours, in one mode, for `cargo xtask bench client` and `bench store`. The programs for
//! the others do the same: they say `ready`, begin at `start`, say `synced MILLISECONDS`, and
//! then take commands, one a line.
//!
//! | command | does | answer |
//! |---|---|---|
//! | `reset` | forgets the events so far | `ok` |
//! | `wait COUNT` | waits for so many events, from `reset` on | `events P50 P99 P99.9`, in microseconds |
//!
//! The handler counts events, and takes the time from the resource version (the server's clock, when it
//! sent the event) to its call.

#![expect(clippy::print_stdout, reason = "answers are its output")]
#![expect(
    clippy::disallowed_methods,
    reason = "it measures real time, and its main thread may sleep"
)]

mod events;
mod modes;
mod projection;
mod reads;

use anyhow::bail;

pub(crate) fn main() -> anyhow::Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["reads"] => reads::run(),
        [mode, url, ca] => modes::run(mode, url, ca),
        _ => bail!("usage: bench-client MODE URL CA, or bench-client reads"),
    }
}
