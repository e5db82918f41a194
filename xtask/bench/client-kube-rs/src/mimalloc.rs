//! The same with mimalloc: what the figures owe to the system's allocator.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[path = "main.rs"]
mod program;

fn main() {
    program::main();
}
