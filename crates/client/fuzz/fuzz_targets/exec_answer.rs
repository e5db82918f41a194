#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evenkeel_client::read_exec_answer(bytes));
