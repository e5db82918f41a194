//! `bench-client` with mimalloc: what an informer's figures owe to the system's allocator.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[path = "bench-client/main.rs"]
mod program;

fn main() -> anyhow::Result<()> {
    program::main()
}
