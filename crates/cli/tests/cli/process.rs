//! A run of the binary, and a folder for its files.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// For whatever should take moments; machines are shared and slow.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// A folder that is gone with its handle.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "evenkeel-cli-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// `evenkeel` with this as its working directory.
    pub(crate) fn evenkeel(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command
            .args(args)
            .current_dir(&self.0)
            .env_remove("KUBECONFIG")
            .env_remove("RUST_LOG");
        command
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running process. Dropping it kills it.
pub(crate) struct Process {
    child: Child,
    output: Arc<(Mutex<Said>, Condvar)>,
}

#[derive(Default)]
struct Said {
    stdout: String,
    stderr: String,
    open_pipes: u32,
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn start(command: Command) -> Process {
    start_with_input(command, None)
}

pub(crate) fn start_with_input(mut command: Command, input: Option<&str>) -> Process {
    let stdin = if input.is_some() {
        Stdio::piped()
    } else {
        Stdio::null()
    };
    command
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    if let (Some(text), Some(mut stdin)) = (input, child.stdin.take()) {
        stdin.write_all(text.as_bytes()).unwrap();
    }
    let output = Arc::new((Mutex::new(Said::default()), Condvar::new()));
    output.0.lock().open_pipes = 2;
    collect(child.stdout.take().unwrap(), &output, |said| {
        &mut said.stdout
    });
    collect(child.stderr.take().unwrap(), &output, |said| {
        &mut said.stderr
    });
    Process { child, output }
}

/// Runs a command to its end.
pub(crate) fn finish(command: Command) -> Ended {
    start(command).end()
}

fn collect(
    pipe: impl std::io::Read + Send + 'static,
    output: &Arc<(Mutex<Said>, Condvar)>,
    place: fn(&mut Said) -> &mut String,
) {
    let output = Arc::clone(output);
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let mut said = output.0.lock();
            let text = place(&mut said);
            text.push_str(&line);
            text.push('\n');
            drop(said);
            output.1.notify_all();
        }
        output.0.lock().open_pipes -= 1;
        output.1.notify_all();
    });
}

impl Process {
    /// Waits until it has said `text` on either stream.
    pub(crate) fn says(&self, text: &str) {
        let mut said = self.output.0.lock();
        let silent = |said: &mut Said| {
            !said.stdout.contains(text) && !said.stderr.contains(text) && said.open_pipes > 0
        };
        self.output.1.wait_while_for(&mut said, silent, SOON);
        let heard = said.stdout.contains(text) || said.stderr.contains(text);
        assert!(
            heard,
            "never said {text:?}:\n{}{}",
            said.stdout, said.stderr
        );
    }

    pub(crate) fn has_said(&self, text: &str) -> bool {
        let said = self.output.0.lock();
        said.stdout.contains(text) || said.stderr.contains(text)
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &id])
            .status()
            .unwrap();
        assert!(sent.success(), "it has ended already");
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        {
            let mut said = self.output.0.lock();
            self.output
                .1
                .wait_while_for(&mut said, |said| said.open_pipes > 0, SOON);
            let text = format!("{}{}", said.stdout, said.stderr);
            assert_eq!(said.open_pipes, 0, "it does not end:\n{text}");
        }
        let code = self.child.wait().unwrap().code();
        let said = std::mem::take(&mut *self.output.0.lock());
        Ended {
            code,
            stdout: said.stdout,
            stderr: said.stderr,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// Asserts the exit code, and that one line of standard error has all the words.
    pub(crate) fn refuses(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:#?}");
        let has_all = |line: &str| words.iter().all(|word| line.contains(word));
        assert!(
            self.stderr.lines().any(has_all),
            "no line has {words:?}: {self:#?}"
        );
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
    }

    pub(crate) fn succeeds(&self) {
        assert_eq!(self.code, Some(0), "{self:#?}");
    }
}

/// A port that nobody has at the moment.
pub(crate) fn free_port() -> u16 {
    let socket = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.local_addr().unwrap().port()
}

/// The permission bits of a file.
#[cfg(unix)]
pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
