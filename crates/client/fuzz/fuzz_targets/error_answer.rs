#![no_main]

#[path = "../../tests/corpus/targets.rs"]
#[allow(dead_code, reason = "each target is a program of its own")]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let [code, piece, bytes @ ..] = data {
        targets::error_answer(u16::from(*code), bytes, usize::from(*piece));
    }
});
