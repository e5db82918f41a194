/// `program (os/architecture) evenkeel-client/version`, in Go's words for both (client-go RC13;
/// the program's own version is not known here).
pub(super) fn default() -> String {
    let path = std::env::args_os().next().unwrap_or_default();
    let name = std::path::Path::new(&path).file_stem().unwrap_or_default();
    described(
        &name.to_string_lossy(),
        std::env::consts::OS,
        std::env::consts::ARCH,
    )
}

fn described(program: &str, os: &str, architecture: &str) -> String {
    let program: String = program
        .chars()
        .filter(|c| c.is_ascii_graphic() && !"()/".contains(*c))
        .collect();
    let program = match &*program {
        "" => "unknown",
        program => program,
    };
    let os = match os {
        "macos" => "darwin",
        os => os,
    };
    let architecture = match architecture {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        architecture => architecture,
    };
    let version = env!("CARGO_PKG_VERSION");
    format!("{program} ({os}/{architecture}) evenkeel-client/{version}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rc13_the_user_agent_names_program_and_platform() {
        let version = env!("CARGO_PKG_VERSION");
        let wanted = format!("operator (linux/amd64) evenkeel-client/{version}");
        assert_eq!(described("operator", "linux", "x86_64"), wanted);
        let wanted = format!("opr (darwin/arm64) evenkeel-client/{version}");
        assert_eq!(
            described("öp\n(r)", "macos", "aarch64"),
            wanted.replace("opr", "pr")
        );
        assert!(described("", "linux", "riscv64").starts_with("unknown (linux/riscv64) "));
        let own = default();
        assert!(own.starts_with("evenkeel_client-"), "{own}");
        assert!(http::HeaderValue::from_str(&own).is_ok());
    }
}
