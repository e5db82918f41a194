use std::path::PathBuf;

use super::*;
use crate::testing::scratch;
use crate::{ExecConfig, ExecVersion, Impersonation, InteractiveMode};

fn edit(path: &Path, change: impl FnOnce(&mut KubeconfigFile)) {
    let mut file = KubeconfigFile::open(path).unwrap();
    change(&mut file);
    file.save().unwrap();
}

fn https() -> Config {
    Config::new("https://h:6443").unwrap()
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[cfg(unix)]
#[test]
fn k10_a_new_file_is_for_its_owner_alone() {
    let folder = scratch("k10-new");
    let path = folder.join("a/b/config");
    edit(&path, |file| file.put("x", &https().token("t")).unwrap());
    assert_eq!(mode(&path), 0o600);
    // The umask may take more away.
    assert_eq!(mode(path.parent().unwrap()) & !0o755, 0);
    let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(names.len(), 1, "neither the lock nor a draft is left");
}

#[cfg(unix)]
#[test]
fn k10_an_old_file_keeps_its_mode_and_a_link_stays_one() {
    use std::os::unix::fs::PermissionsExt;
    let folder = scratch("k10-old");
    let path = folder.join("real");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let link = folder.join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    edit(&link, |file| file.put("x", &https()).unwrap());
    assert_eq!(mode(&path), 0o640);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(
        fs::read_to_string(&path)
            .unwrap()
            .contains("https://h:6443")
    );
}

#[test]
fn k10_ts94_one_writer_at_a_time() {
    let path = scratch("k10-lock").join("config");
    let first = KubeconfigFile::open(&path).unwrap();
    let lock = PathBuf::from(format!("{}.lock", path.display()));
    assert!(lock.exists());
    let error = KubeconfigFile::open(&path).unwrap_err();
    assert_eq!(error, ConfigError::Locked { lock: lock.clone() });
    drop(first);
    assert!(
        !lock.exists() && !path.exists(),
        "dropped, it changes nothing"
    );
    fs::write(&path, "clusters: [").unwrap();
    assert!(matches!(
        KubeconfigFile::open(&path),
        Err(ConfigError::Malformed { .. })
    ));
    assert!(!lock.exists(), "nor does one that cannot be read");
}

#[test]
fn k10_what_is_not_ours_stays() {
    let path = scratch("k10-foreign").join("config");
    let text = "apiVersion: v1\nkind: Config\ncurrent-context: old\npreferences: {colors: true}\n\
                clusters:\n- name: old\n  cluster: {server: 'https://old', unknown: [1, 2.5, ~]}\n\
                users: null\n\
                contexts:\n- name: old\n  context: {cluster: old, user: ''}\nx-mine: 'yes'\n";
    fs::write(&path, text).unwrap();
    edit(&path, |file| {
        file.put("new", &https().namespace("ns")).unwrap();
    });
    let written: Value = kubeconfig::parse_as(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(written["x-mine"], "yes");
    assert_eq!(written["preferences"], json!({"colors": true}));
    let cluster = json!({"server": "https://old", "unknown": [1, 2.5, null]});
    assert_eq!(written["clusters"][0]["cluster"], cluster);
    assert_eq!(written["current-context"], "old", "only on request");
    edit(&path, |file| {
        assert!(file.use_context("gone").is_err());
        file.use_context("new").unwrap();
    });
    let config = Config::from_kubeconfig(&path, None).unwrap();
    assert_eq!(
        (config.server().host(), config.default_namespace()),
        (Some("h"), "ns")
    );
    edit(&path, |file| file.remove("new"));
    assert!(matches!(
        Config::from_kubeconfig(&path, None),
        Err(ConfigError::NoCurrentContext { .. })
    ));
    assert!(Config::from_kubeconfig(&path, Some("old")).is_ok());
}

#[test]
fn k10_what_is_written_is_what_is_read() {
    let folder = scratch("k10-round");
    let file = |name: &str| {
        let path = folder.join(name);
        fs::write(&path, "pem").unwrap();
        path
    };
    let exec = ExecConfig::new(ExecVersion::V1Beta1, "/bin/login")
        .args(["--for", "yes", "null", "1"])
        .env("KEY", "a: b # c")
        .interactive(InteractiveMode::IfAvailable)
        .provide_cluster_info()
        .install_hint("line\nline")
        .cluster_config(json!({"a": [1]}));
    let whom = Impersonation::user("jane")
        .uid("7")
        .group("g")
        .extra("k", "1")
        .extra("k", "2");
    let configs = [
        https().token("123"),
        https().token("  t\n").no_compression().insecure(),
        https().basic_auth("me", "~").server_name("n"),
        https().token_file(file("token")).ca_file(file("ca")),
        https()
            .client_certificate_file(file("crt"), file("key"))
            .impersonate(whom),
        https()
            .client_certificate_pem("c", "k")
            .ca_pem("ca")
            .token("t"),
        https().exec(exec).proxy("socks5://u:p@proxy:1080").unwrap(),
    ];
    let path = folder.join("config");
    for config in configs {
        edit(&path, |file| {
            file.put("x", &config).unwrap();
            file.use_context("x").unwrap();
        });
        let read = Config::from_kubeconfig(&path, None).unwrap();
        let same = |one: &Config| {
            let mut text = format!("{:?} {:?} {:?}", one.tls, one.auth, one.impersonation);
            text += &format!("{:?} {} {}", one.proxy, one.server, one.compression);
            text
        };
        assert_eq!(same(&read), same(&config));
        assert_eq!(entries::user(&read), entries::user(&config));
        assert_eq!(entries::cluster(&read), entries::cluster(&config));
    }
}

#[test]
fn rc15_a_file_that_is_open_prints_no_secret() {
    let path = scratch("rc15-edit").join("config");
    let mut file = KubeconfigFile::open(&path).unwrap();
    file.put("x", &https().token("hunter2")).unwrap();
    assert!(!format!("{file:?}").contains("hunter2"));
}
