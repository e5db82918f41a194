use evenkeel_client::{Client, Config};

use crate::process::{Folder, finish, mode, start};

#[tokio::test]
async fn it_serves_until_it_is_told_to_stop() {
    let folder = Folder::new();
    let process = start(folder.evenkeel(&["apiserver", "--kubeconfig-out=out/kubeconfig"]));
    process.says("Serving securely on 127.0.0.1:");
    let kubeconfig = folder.path("out/kubeconfig");
    assert_eq!(mode(&kubeconfig), 0o600);
    let client = Client::connect(&Config::from_kubeconfig(&kubeconfig, None).unwrap()).unwrap();
    assert!(
        client
            .discover()
            .await
            .unwrap()
            .find("deployments")
            .is_some()
    );
    process.signal("TERM");
    let ended = process.end();
    ended.succeeds();
    assert!(ended.stdout.contains("export KUBECONFIG="), "{ended:#?}");
}

#[tokio::test]
async fn without_tls_it_asks_for_no_token() {
    let folder = Folder::new();
    let process = start(folder.evenkeel(&["apiserver", "--insecure-http"]));
    process.says("Serving insecurely on 127.0.0.1:");
    let kubeconfig = folder.path(".evenkeel/kubeconfig");
    let text = std::fs::read_to_string(&kubeconfig).unwrap();
    assert!(
        text.contains("server: http://127.0.0.1:") && !text.contains("token"),
        "{text}"
    );
    let client = Client::connect(&Config::from_kubeconfig(&kubeconfig, None).unwrap()).unwrap();
    client.discover().await.unwrap();
}

#[test]
fn somebody_elses_kubeconfig_is_left_alone() {
    let folder = Folder::new();
    let text = "apiVersion: v1\nkind: Config\ncurrent-context: production\n";
    let foreign = folder.file("config", text);
    for subcommand in ["apiserver", "up"] {
        let ended = finish(folder.evenkeel(&[subcommand, "--kubeconfig-out=config"]));
        ended.refuses(1, &["config is not from evenkeel", "--kubeconfig-out"]);
    }
    assert_eq!(std::fs::read_to_string(foreign).unwrap(), text);
}

#[test]
fn an_earlier_kubeconfig_of_its_own_is_replaced() {
    let folder = Folder::new();
    folder.file("config", "");
    let mut seen = Vec::new();
    for _ in 0..2 {
        let process = start(folder.evenkeel(&["apiserver", "--kubeconfig-out=config"]));
        process.says("Serving securely");
        seen.push(std::fs::read_to_string(folder.path("config")).unwrap());
        assert_eq!(mode(&folder.path("config")), 0o600);
    }
    assert_ne!(seen[0], seen[1]);
}
