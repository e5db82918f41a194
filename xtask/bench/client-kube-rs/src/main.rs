//! A watcher with a reflector of kube-rs, in one mode, as `bench-client` is an informer of ours: the
//! same commands, the same answers, the same handler. Run by `cargo xtask bench client` and `bench store`.

mod events;
mod modes;
mod reads;

pub(crate) fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["reads"] => reads::run(),
        [mode, url, ca] => modes::run(mode, url, ca),
        _ => {
            eprintln!("usage: bench-client-kube-rs MODE URL CA, or bench-client-kube-rs reads");
            std::process::exit(2);
        }
    }
}
