//! Drives the work queue through one figure and prints it; `cargo xtask bench
//! queue` runs it in turn with the other queues' programs.

#![expect(clippy::print_stdout, reason = "figures are its output")]
#![expect(
    clippy::disallowed_methods,
    reason = "it measures real time, and a thread of its own may sleep"
)]

mod figures;
mod process;

use anyhow::bail;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["item"] => figures::item(),
        ["bytes"] => figures::bytes(),
        ["hot"] => figures::hot(),
        ["delays"] => figures::delays(),
        ["busy"] => figures::busy(),
        _ => bail!("usage: bench-queue item|bytes|hot|delays|busy"),
    }
}
